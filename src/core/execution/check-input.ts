/** Checks of untrusted input that several operations share, and the errors they throw. */

import { BYOT_MODES, type ByotMode, isByotMode } from '../barrier/supplied-tokens.ts'
import { type Fault, fault, MAX_DETAILS, printableName, type Sentence, say, withoutStack, words } from '../errors.ts'
import { MAX_TOKEN_LENGTH } from '../limits.ts'
import { isRedaction, REDACTIONS, type Redaction } from '../redaction.ts'
import { goneFault } from '../schema/catalog-schema.ts'
import type { Layout, Table } from '../schema/layout.ts'
import { MAX_KEY_COLUMNS } from '../schema/schema-rules.ts'
import { inWords } from '../util/lists.ts'
import type { Limits, ParsingContext } from './context.ts'

/** Returns the table with this name. Throws `not_found`, and `failed_precondition` for one that was erased. */
export function requireTable({ layout }: { readonly layout: Layout }, name: unknown): Table {
  const table = typeof name === 'string' ? layout.tables.get(name) : undefined
  if (table !== undefined) return table
  const given = printableName(name)
  if (layout.erased.has(given)) throw goneFault(given)
  throw fault('not_found', { table: given })`Table ${given} does not exist. Specify a table of the schema.`
}

/** Returns the table of a request, which its event names as well. Throws as `requireTable`. */
export function parseTable(context: Pick<ParsingContext, 'layout' | 'event'>, name: unknown): Table {
  const table = requireTable(context, name)
  context.event.setTable(table)
  return table
}

/** Returns a copy of a list without holes. `what` names its items. Throws `invalid_request` for an empty list, `limit_exceeded` for one above `maxRecords`. */
export function parseList({ limits }: { readonly limits: Limits }, list: unknown, what: string): unknown[] {
  const length: unknown = Array.isArray(list) ? list.length : 0
  // A Proxy of a list can have any length.
  if (!Array.isArray(list) || typeof length !== 'number' || length === 0)
    throw fault('invalid_request')`Expected a non-empty array of ${words(what)}.`
  if (length > limits.maxRecords) {
    throw fault(
      'limit_exceeded',
    )`${length} ${words(what)} exceed the limit of ${limits.maxRecords} per request. Split the request or raise limits.maxRecords.`
  }
  return Array.from<unknown>(list)
}

/** Throws `invalid_request` for an empty list of records. `verb` says what was to be done with them. */
export function assertNotEmpty(records: unknown, verb: 'insert' | 'update'): void {
  if (Array.isArray(records) && records.length === 0)
    throw fault('invalid_request')`There are no records to ${words(verb)}. Pass at least one.`
}

/** The error of a token that was not found. Existing clients read exactly this text. */
export const TOKEN_NOT_FOUND = 'Token Not Found'

/** Returns each item that is a string in lower case, as ids are written, and empty text for any other. Empty text is an unknown id. */
export function toIds(list: readonly unknown[]): string[] {
  return list.map((item) => (typeof item === 'string' ? item.toLowerCase() : ''))
}

/** Maximum length of a token in a request, in UTF-16 units. A character has at most two. */
const MAX_TOKEN_UNITS = 2 * MAX_TOKEN_LENGTH

/** Returns the token at an index of a request. Throws `invalid_request` if it is not a string, `limit_exceeded` if it is longer than any token. */
export function parseTokenText(token: unknown, index: number): string {
  if (typeof token !== 'string') throw fault('invalid_request', { index })`tokens[${index}] must be a string.`
  if (token.length > MAX_TOKEN_UNITS) {
    throw fault('limit_exceeded', { index })`tokens[${index}] is longer than any token (${MAX_TOKEN_LENGTH} characters).`
  }
  return token
}

/** Returns a flag. Default false. Throws `invalid_request` for anything but true and false. */
export function parseFlag(value: unknown, name: string): boolean {
  if (value === undefined) return false
  if (typeof value !== 'boolean') throw fault('invalid_request')`${words(name)} must be true or false.`
  return value
}

/** Returns an integer. Throws `out_of_range`. */
export function parseInteger(value: unknown, name: string, [min, max]: readonly [number, number]): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value
  throw fault('out_of_range')`${words(name)} must be an integer from ${min} to ${max}.`
}

/** Returns true for the one word that an option can have. Default false. Throws `invalid_request` for anything else. */
export function parseWord(value: unknown, name: string, word: string): boolean {
  if (value !== undefined && value !== word) throw fault('invalid_request')`${words(name)} must be ${words(word)}, or absent.`
  return value === word
}

/** Options of a deletion. */
export interface DeleteOptions {
  /** True to delete the transient values of the records too, and with them their tokens. Default false: they stay until they expire. */
  readonly transients?: boolean
}

/** Returns how a request treats supplied tokens. Default DISABLE. Throws `invalid_request`. */
export function parseByot(value: unknown): ByotMode {
  const mode = value ?? 'DISABLE'
  if (isByotMode(mode)) return mode
  throw fault('invalid_request')`byot must be ${words(inWords(BYOT_MODES))}.`
}

/** Returns the names of the columns of an upsert; undefined without one. Throws `invalid_request` for anything but a name and a list of names. */
export function parseUpsert(given: unknown): readonly string[] | undefined {
  if (given === undefined || given === '') return undefined
  const names: readonly unknown[] = Array.isArray(given) && given.length <= MAX_KEY_COLUMNS ? Array.from<unknown>(given) : [given]
  if (names.length > 0 && names.every((name) => typeof name === 'string')) return names
  throw fault('invalid_request')`upsert must be the name of a unique column, or a list of the columns that are unique together.`
}

/** How the records of a write are treated. */
export interface WriteModes {
  /** True if their tokens are returned. */
  readonly tokenization: boolean
  /** Whether they can, or must, have tokens supplied by the caller. */
  readonly mode: ByotMode
  /** True if a value can be a text that is shown in place of the stored one. */
  readonly allowsShownText: boolean
}

/** Returns how the options of a write say that its records are treated. Throws `invalid_request`. */
export function parseWriteModes({
  tokenization,
  byot,
  allowShownText,
}: {
  readonly tokenization?: unknown
  readonly byot?: unknown
  readonly allowShownText?: unknown
}): WriteModes {
  return {
    tokenization: parseFlag(tokenization, 'tokenization'),
    mode: parseByot(byot),
    allowsShownText: parseFlag(allowShownText, 'allowShownText'),
  }
}

/** Returns a redaction. Default DEFAULT. `index` is the position of its item in a list. Throws `invalid_request`. */
export function parseRedaction(value: unknown, index?: number): Redaction {
  const asked = value === undefined ? 'DEFAULT' : value
  if (isRedaction(asked)) return asked
  const detail = index === undefined ? {} : { index }
  throw fault('invalid_request', detail)`${memberPath('redaction', index)} must be ${words(inWords(REDACTIONS))}.`
}

/** Returns the path of a member in a message: `tokens[3].redaction`, or `redaction`. */
function memberPath(member: string, index: number | undefined): Sentence {
  return index === undefined ? words(member) : say`tokens[${index}].${words(member)}`
}

/** Returns the error for ids without a record. It is the same for unknown ids, deleted records and ids of another table. */
export function recordsNotFound(table: Table, ids: readonly string[], missing: readonly number[]): Fault {
  return notFoundAt(table, ids, { missing, where: ids.length === 1 ? undefined : paths('ids', missing) })
}

/** The positions of ids without a record, and how a message names them; undefined for the one id of a request. */
interface MissingIds {
  readonly missing: readonly number[]
  readonly where: Sentence | undefined
}

/** The same for ids at other places of a request. */
export function notFoundAt(table: Table, ids: readonly string[], { missing, where }: MissingIds): Fault {
  const details = missing.map((index) => {
    const id = ids[index] ?? ''
    // Other text may be a value, which no error repeats.
    return { table: table.name, index, ...(UUID.test(id) && { id }) }
  })
  const which = where === undefined ? words('this id') : say`the id at ${where}`
  return withoutStack(() => fault('not_found', details)`No record of table ${table.name} has ${which}.`)
}

/** Returns at most 25 positions for a message: `ids[0], ids[4]`. */
export function paths(member: string, indexes: readonly number[]): Sentence {
  return words(
    indexes
      .slice(0, MAX_DETAILS)
      .map((index) => `${member}[${index}]`)
      .join(', '),
  )
}

/** The form of an id. */
export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
