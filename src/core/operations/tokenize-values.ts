/** Values to their deterministic tokens, where a live record holds them. Nothing is stored. */
import { digestValues, isSameValue } from '../barrier/digest-values.ts'
import { deriveTokens } from '../barrier/mint-tokens.ts'
import { openRows } from '../barrier/reveal.ts'
import { printableName, VaultError } from '../errors.ts'
import { MOST_NAMED_IN_ERROR } from '../limits.ts'
import { forbidden } from '../policy/refuse-access.ts'
import type { TableAccess } from '../policy/table-access.ts'
import type { Row } from '../ports/storage.ts'
import type { Column } from '../schema/layout.ts'
import { findReached } from '../row-access/find-visible-by-digest.ts'
import { ValueFault } from '../values/column-type.ts'
import { audited } from './audited.ts'
import type { OperationContext, SessionContext } from '../execution/context.ts'
import { listOf, tableOf } from '../execution/context.ts'
import { accessTo, columnFor } from '../execution/grants.ts'

const VERB = 'Tokenize'

/** A value, as text, and where it is to be looked for: in a column, or in a column group. */
export type TokenizeParameter =
  | { readonly value: string; readonly table: string; readonly column: string }
  | { readonly value: string; readonly columnGroup: string }

/** One column of one table, and what the caller may do there. */
interface Home {
  readonly access: TableAccess
  readonly column: Column
}

/** A parameter as it was understood. The columns share one scope, so a value has one token in all of them. */
interface Wanted {
  readonly homes: readonly Home[]
  readonly value: unknown
}

/** The token of each value, in order. Throws `not_found` when no live record holds one of them, `unprocessable` for a column that is not deterministic. */
export function tokenizeValues(
  session: SessionContext,
  parameters: readonly TokenizeParameter[],
): Promise<{ records: { token: string }[] }> {
  const body = () => ({ records: parameters })
  return audited(session, { action: 'TOKENIZE', resourceType: 'TOKEN', verb: VERB, body }, async (context) => {
    const given = listOf(context, parameters, VERB, 'values')
    const wanted = given.map((parameter, index) => parseParameter(context, parameter, index))
    const isLive = await liveValues(context, wanted)
    const missing = isLive.flatMap((live, index) => (live ? [] : [index]))
    if (missing.length > 0) {
      const indexes = missing.slice(0, MOST_NAMED_IN_ERROR)
      throw new VaultError(
        'not_found',
        `${VERB} failed. No record holds the value at position ${indexes.join(', ')}. Insert it first, or leave it out.`,
        indexes.map((index) => ({ index })),
      )
    }
    return { records: wanted.map(({ homes, value }) => ({ token: tokenOf(context, homes[0], value) })) }
  })
}

function tokenOf({ barrier }: OperationContext, home: Home | undefined, value: unknown): string {
  return home === undefined ? '' : (deriveTokens(barrier.ring, home.column, [value])[0] ?? '')
}

function parseParameter(context: OperationContext, parameter: unknown, index: number): Wanted {
  const given = typeof parameter === 'object' && parameter !== null ? parameter : {}
  const [value, table, column, group]: unknown[] = ['value', 'table', 'column', 'columnGroup'].map((name) =>
    Reflect.get(given, name),
  )
  if (typeof value !== 'string')
    throw new VaultError('invalid_request', `${VERB} failed. Item ${index} needs a value, as text.`, { index })
  const hasPlace = table !== undefined || column !== undefined
  if (hasPlace === (group !== undefined) || (hasPlace && (table === undefined || column === undefined))) {
    throw new VaultError('invalid_request', `${VERB} failed. Item ${index} needs either columnGroup, or both table and column.`, {
      index,
    })
  }
  const homes = group === undefined ? [homeOf(context, table, column)] : homesOf(context, group)
  const home = homes[0]
  if (home?.column.token?.isDeterministic !== true) {
    throw new VaultError(
      'unprocessable',
      `${VERB} failed. The column of item ${index} has no deterministic tokens. Ask for a deterministic column, or read the record's tokens.`,
      { index },
    )
  }
  return { homes, value: parseValue(home, value, index) }
}

function homeOf(context: OperationContext, tableName: unknown, name: unknown): Home {
  const table = tableOf(context, tableName)
  const access = accessTo(context, table, 'TOKENIZATION')
  return { access, column: columnFor(context, access, { name, action: 'TOKENIZATION' }) }
}

/** The columns of a group that he may ask. Of a group in which he may ask none he learns nothing, unless he sees one of them, or holds no grant on its tables at all. */
function homesOf(context: OperationContext, group: unknown): Home[] {
  const all = [...context.layout.tables.values()].flatMap((table) =>
    table.columns
      .filter((column) => column.group !== undefined && column.group === group)
      .map((column) => ({ access: context.access.table(table), column })),
  )
  const homes = all.filter(({ access, column }) => access.couldMay('TOKENIZATION', column))
  if (homes.length > 0) return homes
  const isStranger = all.length > 0 && all.every(({ access }) => !access.holdsAny)
  if (isStranger || all.some(({ access, column }) => access.couldSee(column))) throw forbidden(context.caller, 'TOKENIZATION')
  throw new VaultError(
    'invalid_request',
    `${VERB} failed. Column group ${printableName(group)} is unknown. Specify a group of the schema.`,
  )
}

function parseValue({ access: { table }, column }: Home, text: string, index: number): unknown {
  try {
    return column.type.fromText(text)
  } catch (error) {
    if (!(error instanceof ValueFault)) throw error
    throw new VaultError(
      'unprocessable',
      `${VERB} failed. The value for column ${column.name} of table ${table.name} ${error.message} (position ${index}).`,
      {
        table: table.name,
        column: column.name,
        index,
      },
    )
  }
}

/** Whether a live record that is there for the caller holds each value, in any column of its scope; what digests claim is proven on the opened cell. */
async function liveValues(context: OperationContext, wanted: readonly Wanted[]): Promise<boolean[]> {
  const isLive: boolean[] = new Array(wanted.length).fill(false)
  const homes = new Map(wanted.flatMap((one) => one.homes).map((home) => [home.column, home]))
  for (const home of homes.values()) {
    const places = wanted.flatMap((one, place) =>
      !isLive[place] && one.homes.some(({ column }) => column === home.column) ? [place] : [],
    )
    const values = places.map((place) => wanted[place]?.value)
    const held = await areHeld(context, home, values)
    for (const [k, place] of places.entries()) isLive[place] = held[k] === true
  }
  return isLive
}

async function areHeld(context: OperationContext, home: Home, values: readonly unknown[]): Promise<boolean[]> {
  const { access, column } = home
  const needs = [{ action: 'TOKENIZATION', columns: [column] } as const]
  const digests = digestValues(context.barrier.ring, column, values)
  const proves = (place: number, rows: readonly Row[]): boolean[] =>
    holdValues(context, home, rows).map((value) => isSameValue(column, value, values[place]))
  const rows = await findReached(context, { access, column, needs, proves }, digests)
  const held = holdValues(
    context,
    home,
    rows.filter((row) => row !== undefined),
  )
  let next = 0
  return rows.map((row, index) => row !== undefined && isSameValue(column, held[next++], values[index]))
}

/** The value each row holds in the column. */
function holdValues({ barrier }: OperationContext, { access, column }: Home, rows: readonly Row[]): unknown[] {
  const cursor = openRows(barrier, access.table, rows)
  return rows.map((_, index) => {
    cursor.to(index)
    return cursor.value(column)
  })
}
