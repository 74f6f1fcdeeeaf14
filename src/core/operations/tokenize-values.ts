/** Tokenize: returns the deterministic tokens of values that a live record has. Stores nothing. */

import { digestValues, isSameValue, olderDigests } from '../barrier/digest-values.ts'
import { deriveTokens } from '../barrier/mint-tokens.ts'
import { parseListedValue } from '../barrier/parse-record.ts'
import { fault, printableName } from '../errors.ts'
import { parseFlag, parseList, paths, requireTable } from '../execution/check-input.ts'
import type { OperationContext, ParsingContext } from '../execution/context.ts'
import { requireAccess, requireColumn } from '../execution/grants.ts'
import type { Operation } from '../execution/operation.ts'
import { inSlices } from '../pace/pace.ts'
import { forbidden } from '../policy/create-access.ts'
import type { TableAccess } from '../policy/table-access.ts'
import { valuesInSlices } from '../row-access/evaluate-access.ts'
import { findVisibleByDigest } from '../row-access/find-visible.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { ALONE } from '../unit-of-work/gather.ts'
import { at, cutList, required } from '../util/lists.ts'
import { assertItems } from '../util/options.ts'
import type { JsonBudget } from '../values/column-type.ts'
import { createJsonBudget } from '../values/json-types.ts'

/** A value, and the column or column group to search: `table.column` for a column without a group. A blank name counts as absent. */
export type TokenizeParameter =
  | { readonly value: unknown; readonly table: string; readonly column: string }
  | { readonly value: unknown; readonly columnGroup: string }

/** Input of tokenize. */
export interface TokenizeInput {
  readonly records: readonly TokenizeParameter[]
  /** Read each value as the text of a value of its column, as a wire has it. Default false: a value is itself. */
  readonly areTexts?: boolean
}

/** A parsed parameter. Its columns are resolved later, because they depend on the caller's grants. */
export type TokenizeRequest = { readonly given: unknown; readonly isText: boolean } & (
  | { readonly group: unknown }
  | { readonly table: unknown; readonly column: unknown }
)

/** One column of one table, and the caller's access to it. */
interface TokenColumn {
  readonly access: TableAccess
  readonly column: Column
}

/** A value and the columns to search. They share one digest scope, so the value has one token in all of them. */
interface Lookup {
  readonly columns: readonly TokenColumn[]
  readonly value: unknown
}

/** Returns the token of each value, in order; null for one that its column stores without a token. Throws `not_found` if no live record has a value, `unprocessable` for a column without deterministic tokens. */
export const tokenize: Operation<TokenizeInput, readonly TokenizeRequest[], { records: { token: string | null }[] }> = {
  action: 'TOKENIZE',
  resourceType: 'TOKEN',
  verb: 'Tokenize',
  members: ['records', 'areTexts'],
  recorded: { records: { value: 'value', table: 'name', column: 'name', columnGroup: 'name' }, areTexts: 'omitted' },
  parse({ records, areTexts }, context: ParsingContext) {
    const isText = parseFlag(areTexts, 'areTexts')
    const list = parseList(context, records, 'values')
    assertItems(list, ['value', 'table', 'column', 'columnGroup'], 'values')
    return list.map((parameter, index) => parseParameter(parameter, index, isText))
  },
  async execute(context, parameters) {
    const lookups = lookupsOf(context, parameters)
    const list = { count: lookups.length, bytesAt: (index: number) => lengthOf(at(lookups, index)) }
    const isLive = await inSlices(list, context.scheduler, (start, end) => areLive(context, lookups.slice(start, end)))
    const missing = isLive.flatMap((live, index) => (live ? [] : [index]))
    if (missing.length > 0) {
      const details = missing.map((index) => ({ index }))
      throw fault('not_found', details)`No record holds ${paths('values', missing)}. Insert the value first, or leave it out.`
    }
    return { records: await inSlices(list, context.scheduler, (start, end) => tokensOf(context, lookups.slice(start, end))) }
  },
  asOne: {
    keys: { turn: (parameters) => (isShort(parameters) ? 'tokenize' : undefined) },
    async execute(context, requests) {
      const lookups = requests.map((parameters) => lookupsOrNone(context, parameters))
      const isLive = await areLive(context, lookups.flat())
      const live = cutList(isLive, lengthsOf(lookups))
      const complete = lookups.map((own, index) =>
        own.length === at(requests, index).length && !at(live, index).includes(false) ? own : [],
      )
      const tokens = cutList(tokensOf(context, complete.flat()), lengthsOf(complete))
      return tokens.map((records) => (records.length === 0 ? ALONE : { records }))
    },
  },
}

/** Maximum number of values of a request that is joined with others, and the maximum length of each. */
const MAX_VALUES_TO_JOIN = 16
const MAX_LENGTH_TO_JOIN = 1024

/** True if a request can be joined with others: a joined one has no slices. */
function isShort(parameters: readonly TokenizeRequest[]): boolean {
  return parameters.length <= MAX_VALUES_TO_JOIN && parameters.every(({ given }) => isShortValue(given))
}

/** True for a short text, and for every other value that is not made of others. */
function isShortValue(given: unknown): boolean {
  return typeof given === 'string' ? given.length <= MAX_LENGTH_TO_JOIN : typeof given !== 'object'
}

/** Returns the length of a value as text. */
function lengthOf({ columns, value }: Lookup): number {
  return typeof value === 'string' ? value.length : at(columns, 0).column.type.toText(value).length
}

/** Returns what each parameter looks up; nothing for a request that is refused when it runs by itself. */
function lookupsOrNone(context: OperationContext, parameters: readonly TokenizeRequest[]): Lookup[] {
  try {
    return lookupsOf(context, parameters)
  } catch {
    return []
  }
}

function lengthsOf(lists: readonly (readonly unknown[])[]): number[] {
  return lists.map(({ length }) => length)
}

/** Returns the token of each value, in order. Those of one column are derived together. */
function tokensOf({ barrier: { ring } }: OperationContext, lookups: readonly Lookup[]): { token: string | null }[] {
  const byColumn = new Map<Column, unknown[]>()
  for (const { columns, value } of lookups) {
    const { column } = at(columns, 0)
    const values = byColumn.get(column)
    if (values === undefined) byColumn.set(column, [value])
    else values.push(value)
  }
  const derived = new Map([...byColumn].map(([column, values]) => [column, deriveTokens(ring, column, values).values()]))
  return lookups.map(({ columns }) => {
    const tokens = required(derived.get(at(columns, 0).column), 'The tokens of a column')
    return { token: tokens.next().value ?? null }
  })
}

function parseParameter(parameter: unknown, index: number, isText: boolean): TokenizeRequest {
  const members = typeof parameter === 'object' && parameter !== null ? parameter : {}
  const given: unknown = Reflect.get(members, 'value')
  const [table, column, group] = ['table', 'column', 'columnGroup'].map((name) => presentName(Reflect.get(members, name)))
  if (given === undefined || given === null)
    throw fault('invalid_request', { index })`values[${index}].value must be a value other than null.`
  const hasColumn = table !== undefined && column !== undefined
  if (group !== undefined && table === undefined && column === undefined) return { given, isText, group }
  if (group === undefined && hasColumn) return { given, isText, table, column }
  throw fault('invalid_request', { index })`values[${index}] needs either columnGroup, or both table and column.`
}

/** Returns a name as it is given. A blank name means that there is none. */
function presentName(name: unknown): unknown {
  return name === '' ? undefined : name
}

function lookupsOf(context: OperationContext, parameters: readonly TokenizeRequest[]): Lookup[] {
  const json = createJsonBudget(context.limits)
  return parameters.map((one, index) => lookupOf(context, one, { index, json }))
}

/** Returns the columns of a parameter, and its value parsed by their type. */
function lookupOf(
  context: OperationContext,
  parameter: TokenizeRequest,
  { index, json }: { readonly index: number; readonly json: JsonBudget },
): Lookup {
  const columns = 'group' in parameter ? columnsOfGroup(context, parameter.group) : [columnOf(context, parameter)]
  const first = at(columns, 0)
  if (first.column.token?.isDeterministic !== true) {
    throw fault('unprocessable', {
      index,
    })`values[${index}] names a column without deterministic tokens. Use one with them, or read the record with tokenization.`
  }
  const { given: value, isText } = parameter
  return { columns, value: parseListedValue(first.access.table, first.column, { value, list: 'values', index, isText, json }) }
}

function columnOf(
  context: OperationContext,
  { table: name, column }: { readonly table: unknown; readonly column: unknown },
): TokenColumn {
  const access = requireAccess(context, requireTable(context, name), 'TOKENIZATION')
  return { access, column: requireColumn(context, access, { name: column, action: 'TOKENIZATION' }) }
}

/**
 * Columns of the group, or the one `table.column` without a group, on which the caller has TOKENIZATION. If there are none, throws
 * `forbidden` when the caller can read one of them or has no grant on their tables, else `invalid_request`, as for an unknown group.
 */
function columnsOfGroup(context: OperationContext, group: unknown): TokenColumn[] {
  const isOneColumn = typeof group === 'string' && group.includes('.')
  const nameOf = (table: Table, column: Column) => column.group ?? (isOneColumn ? `${table.name}.${column.name}` : undefined)
  const all = [...context.layout.tables.values()].flatMap((table) =>
    table.columns
      .filter((column) => group !== undefined && nameOf(table, column) === group)
      .map((column) => ({ access: context.access.table(table), column })),
  )
  const allowed = all.filter(({ access, column }) => access.possiblyAllows('TOKENIZATION', column))
  if (allowed.length > 0) return allowed
  const hasNoGrant = all.length > 0 && all.every(({ access }) => !access.hasAnyGrant)
  if (hasNoGrant || all.some(({ access, column }) => access.possiblyVisible(column)))
    throw forbidden(context.caller, 'TOKENIZATION')
  throw fault('invalid_request')`Column group ${printableName(group)} does not exist. Specify a group of the schema.`
}

/** Returns whether a visible record has each value, in order, in any of its columns. */
async function areLive(context: OperationContext, lookups: readonly Lookup[]): Promise<boolean[]> {
  const isLive: boolean[] = new Array(lookups.length).fill(false)
  const columns = new Map(lookups.flatMap((one) => one.columns).map((one) => [one.column, one]))
  for (const one of columns.values()) {
    const indexes = lookups.flatMap(({ columns: searched }, index) =>
      !isLive[index] && searched.some(({ column }) => column === one.column) ? [index] : [],
    )
    const values = indexes.map((index) => at(lookups, index).value)
    const held = await areHeld(context, one, values)
    for (const [k, index] of indexes.entries()) isLive[index] = at(held, k)
  }
  return isLive
}

/** Returns whether a visible row has each value in the column, in order. The opened value decides, so that a digest that was moved in the database finds no wrong record. */
async function areHeld(
  context: OperationContext,
  { access, column }: TokenColumn,
  values: readonly unknown[],
): Promise<boolean[]> {
  const { unit, barrier } = context
  const { ring } = barrier
  const { table } = access
  const needs = [{ action: 'TOKENIZATION', columns: [column] } as const]
  const find = (digests: readonly Uint8Array[]) => findVisibleByDigest(unit.storage, context, { access, column, needs, digests })
  // The other first: a row can get the digest of new ones meanwhile, and never gives it up.
  const other = olderDigests(ring, column, values)
  const earlier = other.length === 0 ? [] : await find(other)
  const rows = (await find(digestValues(ring, column, values))).map((row, index) => row ?? earlier[index])
  const found = rows.filter((row) => row !== undefined)
  const held = await valuesInSlices(context, { table, column }, found)
  let next = 0
  return rows.map((row, index) => {
    if (row === undefined) return false
    const value = held[next++]
    const isHeld = value !== null && isSameValue(column, value, values[index])
    if (!isHeld) barrier.reportMismatch?.({ table, column, row: row.id })
    return isHeld
  })
}
