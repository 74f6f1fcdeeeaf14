/** Tokens that callers bring: which of them may be taken, checked before anything is stored. */
import { VaultError } from '../errors.ts'
import { LONGEST_TOKEN } from '../limits.ts'
import type { KeyRing } from '../ports/keys.ts'
import type { Column, Layout, Table } from '../schema/layout.ts'
import { readPointer } from '../sealing/pointer.ts'
import { isWellFormed } from '../values/well-formed.ts'
import type { Place, Values } from './parse-record.ts'
import { unknownColumn } from './parse-record.ts'

/** Whether brought tokens are refused, taken where given, or demanded for every tokenized value. Source: specification, "Records". */
export type Byot = 'DISABLE' | 'ENABLE' | 'ENABLE_STRICT'

/** Every one of them. */
export const BYOT_MODES: readonly string[] = ['DISABLE', 'ENABLE', 'ENABLE_STRICT'] satisfies readonly Byot[]

/** True for a mode a request may name. */
export function isByot(input: unknown): input is Byot {
  return typeof input === 'string' && BYOT_MODES.includes(input)
}

/** Checks the tokens one record brings. Throws `invalid_request` for names and shapes, `unprocessable` for everything else. */
export function parseTokens(
  table: Table,
  tokens: unknown,
  { mode, values, place }: { readonly mode: Byot; readonly values: Values; readonly place: Place },
): ReadonlyMap<string, string> | undefined {
  const given = tokens === undefined ? {} : tokens
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new VaultError(
      'invalid_request',
      `${place.verb} failed. tokens of record ${place.index} must be an object of texts by column.`,
      {
        table: table.name,
        index: place.index,
      },
    )
  }
  const entries = Object.entries(given)
  if (mode === 'DISABLE' && entries.length > 0)
    throw refused(table, undefined, place, 'brings tokens, and byot is DISABLE. Leave them out, or ask for ENABLE')
  const brought = new Map<string, string>()
  for (const [name, token] of entries) {
    const column = table.byName.get(name)
    if (column === undefined) throw unknownColumn(table.name, name)
    brought.set(name, parseToken(table, column, token, { values, place }))
  }
  if (mode === 'ENABLE_STRICT') assertNoneMissing(table, values, brought, place)
  return brought.size === 0 ? undefined : brought
}

function parseToken(
  table: Table,
  column: Column,
  token: unknown,
  { values, place }: { readonly values: Values; readonly place: Place },
): string {
  if (typeof token !== 'string') {
    throw new VaultError(
      'invalid_request',
      `${place.verb} failed. The token of column ${column.name} of table ${table.name} must be text (record ${place.index}).`,
      {
        table: table.name,
        column: column.name,
        index: place.index,
      },
    )
  }
  if (column.token === undefined) throw refused(table, column, place, 'has no tokens')
  const value = values[column.position]
  if (value === undefined || value === null) throw refused(table, column, place, 'brings a token without a value')
  if (token.length === 0 || [...token].length > LONGEST_TOKEN) {
    throw refused(table, column, place, `brings a token that must have 1 to ${LONGEST_TOKEN} characters`)
  }
  if (!isWellFormed(token)) throw refused(table, column, place, 'brings a token that must be well-formed text')
  if (token === column.type.show(value)) throw refused(table, column, place, 'brings a token that equals its value')
  return token
}

function assertNoneMissing(table: Table, values: Values, brought: ReadonlyMap<string, string>, place: Place): void {
  for (const column of table.tokenized) {
    const value = values[column.position]
    if (value !== undefined && value !== null && !brought.has(column.name))
      throw refused(table, column, place, 'brings no token for its value, and byot is ENABLE_STRICT')
  }
}

/** No vault gives ids beyond this in its life; a random UUID almost always names one, and so may be brought. */
const MOST_PLAUSIBLE_ROW = 2 ** 40

/** Refuses brought tokens that would be taken for pointers of this vault. */
export function assertNoPointers(
  ring: KeyRing,
  layout: Layout,
  table: Table,
  texts: readonly (ReadonlyMap<string, string> | undefined)[],
  verb: string,
): void {
  const brought = texts.flatMap((tokens, index) => [...(tokens ?? [])].map(([name, token]) => ({ name, token, index })))
  if (brought.length === 0) return
  const { words, wellFormed } = ring.undisguise(brought.map(({ token }) => token))
  for (const [at, { name, index }] of brought.entries()) {
    const { space, row } = readPointer(words, at)
    if (wellFormed[at] !== 1 || row > MOST_PLAUSIBLE_ROW || !layout.spaces.has(space)) continue
    throw refused(table, table.byName.get(name), { verb, index }, 'brings a token that looks like a pointer of this vault')
  }
}

function refused(table: Table, column: Column | undefined, place: Place, what: string): VaultError {
  const subject =
    column === undefined ? `Record ${place.index} of table ${table.name}` : `Column ${column.name} of table ${table.name}`
  return new VaultError(
    'unprocessable',
    `${place.verb} failed. ${subject} ${what}${column === undefined ? '' : ` (record ${place.index})`}.`,
    {
      table: table.name,
      ...(column === undefined ? {} : { column: column.name }),
      index: place.index,
    },
  )
}
