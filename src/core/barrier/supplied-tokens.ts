/** Parses tokens that callers supply (BYOT), and refuses those that cannot be accepted, before anything is stored. */
import { type Fault, fault, words } from '../errors.ts'
import { MAX_TOKEN_LENGTH } from '../limits.ts'
import type { KeyRing } from '../ports/crypto.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Layout, Table } from '../schema/layout.ts'
import { readPointer, toUuidTexts } from '../sealing/envelope.ts'
import type { Derivation, Recovered } from '../tokens/token-kind.ts'
import { isWellFormed, sameBytes } from '../util/bytes.ts'
import { at, required } from '../util/lists.ts'
import { normalize } from '../values/normalizers.ts'
import { comparedText, digestValues } from './digest-values.ts'
import type { Values } from './parse-record.ts'
import { cellDetail, inRecord, type RecordIndex, recordDetail, recordPath, unknownColumn } from './record-errors.ts'
import type { TokensByRow } from './token-metadata.ts'

/** Whether supplied tokens are refused, accepted, or required for every tokenized value. Source: specification, "Records". */
export type ByotMode = 'DISABLE' | 'ENABLE' | 'ENABLE_STRICT'

/** Every mode. */
export const BYOT_MODES: readonly string[] = ['DISABLE', 'ENABLE', 'ENABLE_STRICT'] satisfies readonly ByotMode[]

/** True for one of the modes. */
export function isByotMode(input: unknown): input is ByotMode {
  return typeof input === 'string' && BYOT_MODES.includes(input)
}

/** The record that tokens are supplied with, and the mode of the request. */
interface SuppliedWith {
  readonly mode: ByotMode
  readonly values: Values
  readonly index: RecordIndex
}

/** Returns the tokens supplied with one record, by column; undefined if there are none. Throws `invalid_request` for an unknown column or a wrong shape, else `unprocessable`. */
export function parseTokens(table: Table, tokens: unknown, record: SuppliedWith): ReadonlyMap<string, string> | undefined {
  const { mode, values, index } = record
  // Most records have none, so nothing is made for them.
  if (tokens === undefined && mode !== 'ENABLE_STRICT') return undefined
  const given = tokens === undefined ? {} : tokens
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw fault(
      'invalid_request',
      recordDetail(table, index),
    )`${recordPath(index)}.tokens must be an object of strings by column.`
  }
  const entries = Object.entries(given)
  if (mode === 'DISABLE' && entries.length > 0) {
    throw fault(
      'unprocessable',
      recordDetail(table, index),
    )`${recordPath(index)} has tokens, but byot is DISABLE. Remove them, or set byot to ENABLE.`
  }
  const supplied = new Map<string, string>()
  for (const [name, token] of entries) {
    const column = table.byName.get(name)
    if (column === undefined) throw unknownColumn(table.name, name)
    supplied.set(name, parseToken(table, column, { ...record, token }))
  }
  if (mode === 'ENABLE_STRICT') assertNoneMissing(table, values, { supplied, index })
  return supplied.size === 0 ? undefined : supplied
}

function parseToken(table: Table, column: Column, { token, values, index }: SuppliedWith & { readonly token: unknown }): string {
  if (typeof token !== 'string') {
    const { name } = column
    throw fault(
      'invalid_request',
      cellDetail(table, column, index),
    )`${recordPath(index)}.tokens: the token of ${name} must be a string.`
  }
  const refuse = (problem: string): Fault => refused(table, column, { index, problem })
  const value = values[column.position]
  if (column.token === undefined) throw refuse('has no tokens')
  if (value === undefined || value === null) throw refuse('has a token but no value')
  if (token.length === 0 || [...token].length > MAX_TOKEN_LENGTH) {
    throw refuse(`has a token that is not 1 to ${MAX_TOKEN_LENGTH} characters long`)
  }
  if (!isWellFormed(token)) throw refuse('has a token that is not well-formed text')
  if (token === column.type.toText(value)) throw refuse('has a token equal to its value')
  if (isSpelling(column, token, value)) throw refuse('has a token that is another spelling of its value')
  return token
}

/** True if the token shows the value: the two are written alike, or equal after the normalizers of the column. */
function isSpelling(column: Column, token: string, value: unknown): boolean {
  if (column.type.isSpelledBy(value, token)) return true
  const normal = normalize(column.normalize, token)
  return normal !== undefined && normal !== '' && normal.normalize('NFC') === comparedText(column, value)
}

function assertNoneMissing(
  table: Table,
  values: Values,
  { supplied, index }: { readonly supplied: ReadonlyMap<string, string>; readonly index: RecordIndex },
): void {
  for (const column of table.tokenized) {
    const value = values[column.position]
    if (value !== undefined && value !== null && !supplied.has(column.name))
      throw refused(table, column, { index, problem: 'has a value but no token, and byot is ENABLE_STRICT' })
  }
}

/** Highest row id that counts as one of this vault: no vault reaches it. A random UUID almost always decrypts to a higher one, so it can be supplied. */
const MAX_PLAUSIBLE_ROW = 2 ** 40

/** A supplied token and the value it is supplied with. */
interface Supplied {
  readonly column: Column
  readonly text: string
  readonly value: unknown
  readonly index: RecordIndex
}

/** The supplied tokens of records, with the values and the indexes of the records. */
interface SuppliedRecords {
  readonly tokens: TokensByRow
  readonly values: readonly Values[]
  readonly indexes: readonly RecordIndex[]
}

/**
 * Throws `unprocessable` for supplied tokens in a form that this vault makes itself: a pointer, or a text that a deterministic column
 * derives from some value. Only the text decides, and never what is stored: a refusal says nothing about values. See docs/decisions/0026.
 */
export function assertOwnFormsUnused(
  { ring, layout }: { readonly ring: KeyRing; readonly layout: Layout },
  table: Table,
  { tokens, values, indexes }: SuppliedRecords,
): void {
  if (tokens.every((texts) => texts === undefined)) return
  const supplied = tokens.flatMap((texts, row) =>
    [...(texts ?? [])].map(([name, text]): Supplied => {
      const column = required(table.byName.get(name), 'The column of a supplied token')
      return { column, text, value: at(values, row)[column.position], index: indexes[row] }
    }),
  )
  const texts = supplied.map(({ text }) => text)
  for (const version of ring.lookupVersions) {
    const { words: pointers, wellFormed } = ring.decryptPointers(version, toUuidTexts(texts))
    for (const [k, { column, index }] of supplied.entries()) {
      const { objectId, row } = readPointer(pointers, k)
      if (wellFormed[k] !== 1 || row > MAX_PLAUSIBLE_ROW || !layout.objectIds.has(objectId)) continue
      throw refused(table, column, { index, problem: "has a token in the form of this vault's own ids and tokens; use another" })
    }
  }
  for (const { column: other } of layout.tokenColumns.values()) {
    const { scope, format, token } = other
    if (token?.keeps !== 'nothing') continue
    const recovered = ring.lookupVersions.map((version) => ({
      version,
      sources: token.recover({ ring, version, scope, format }, texts),
    }))
    for (const [k, one] of supplied.entries()) {
      if (recovered.every(({ sources }) => sources[k] === undefined)) continue
      const isSource = ({ version, sources }: (typeof recovered)[number]): boolean =>
        isSourceOf({ ring, version }, sources[k], one)
      if (scope === one.column.scope && recovered.some(isSource)) continue
      const problem = "has a token in the form of a deterministic column's tokens; use another"
      throw refused(table, one.column, { index: one.index, problem })
    }
  }
}

/** True if the token is the deterministic one, by this root key, of the value it is supplied with. */
function isSourceOf(
  { ring, version }: Pick<Derivation, 'ring' | 'version'>,
  source: Recovered | undefined,
  { column, value }: Supplied,
): boolean {
  if (source?.kind !== 'digest') return source?.shown === comparedText(column, value)
  const [digest] = digestValues(ring, column, [value], version)
  return digest !== undefined && sameBytes(digest, source.digest)
}

function refused(
  table: Table,
  column: Column,
  { index, problem }: { readonly index: RecordIndex; readonly problem: string },
): Fault {
  return fault(
    'unprocessable',
    cellDetail(table, column, index),
  )`Column ${column.name} of table ${table.name} ${words(problem)}${inRecord(index)}.`
}
