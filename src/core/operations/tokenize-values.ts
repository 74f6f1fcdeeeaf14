/** Values to their deterministic tokens, where a live record holds them. Nothing is stored. */
import { digestValues, isSameValue } from '../barrier/digest-values.ts'
import { deriveTokens } from '../barrier/mint-tokens.ts'
import { unknownColumn } from '../barrier/parse-record.ts'
import { openRows } from '../barrier/reveal.ts'
import { VaultError } from '../errors.ts'
import { MOST_NAMED_IN_ERROR } from '../limits.ts'
import { visibleColumn } from '../policy/column-views.ts'
import { assertAllowed } from '../policy/decide.ts'
import type { Column, Table } from '../schema/layout.ts'
import { quotedName } from '../schema/names.ts'
import { findByDigest } from '../stores/find-by-digest.ts'
import { ValueFault } from '../values/column-type.ts'
import type { OperationContext } from './context.ts'
import { listOf, tableOf } from './context.ts'

const VERB = 'Tokenize'

/** A value, as text, and where it is to be looked for: in a column, or in a column group. */
export type TokenizeParameter =
  | { readonly value: string; readonly table: string; readonly column: string }
  | { readonly value: string; readonly columnGroup: string }

/** One column of one table. */
interface Home {
  readonly table: Table
  readonly column: Column
}

/** A parameter as it was understood. The columns share one scope, so a value has one token in all of them. */
interface Wanted {
  readonly homes: readonly Home[]
  readonly value: unknown
}

/** The token of each value, in order. Throws `not_found` when no live record holds one of them, `rule_broken` for a column that is not deterministic. */
export async function tokenizeValues(
  context: OperationContext,
  parameters: readonly TokenizeParameter[],
): Promise<{ records: { token: string }[] }> {
  const given = listOf(context, parameters, VERB, 'values')
  const wanted = given.map((parameter, index) => parseParameter(context, parameter, index))
  const isLive = await liveValues(context, wanted)
  const missing = isLive.flatMap((live, index) => (live ? [] : [index]))
  if (missing.length > 0) {
    const indexes = missing.slice(0, MOST_NAMED_IN_ERROR)
    throw new VaultError(
      'not_found',
      `${VERB} failed. No record holds the value at position ${indexes.join(', ')}. Insert it first, or leave it out.`,
      { indexes },
    )
  }
  return { records: wanted.map(({ homes, value }) => ({ token: tokenOf(context, homes[0], value) })) }
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
      'rule_broken',
      `${VERB} failed. The column of item ${index} has no deterministic tokens. Ask for a deterministic column, or read the record's tokens.`,
      { index },
    )
  }
  return { homes, value: parseValue(home, value, index) }
}

function homeOf(context: OperationContext, tableName: unknown, name: unknown): Home {
  const table = tableOf(context, tableName, VERB)
  assertAllowed(context.caller, 'TOKENIZATION', table)
  const column = typeof name === 'string' ? visibleColumn(context.caller, table, name) : undefined
  if (column === undefined) throw unknownColumn(VERB, table.name, name)
  return { table, column }
}

function homesOf({ caller, layout }: OperationContext, group: unknown): Home[] {
  const homes = [...layout.tables.values()].flatMap((table) =>
    table.columns.filter((column) => column.group === group).map((column) => ({ table, column })),
  )
  if (homes.length === 0)
    throw new VaultError(
      'invalid_request',
      `${VERB} failed. Column group ${quotedName(group)} is unknown. Specify a group of the schema.`,
    )
  for (const { table } of homes) assertAllowed(caller, 'TOKENIZATION', table)
  return homes
}

function parseValue({ table, column }: Home, text: string, index: number): unknown {
  try {
    return column.type.fromText(text)
  } catch (error) {
    if (!(error instanceof ValueFault)) throw error
    throw new VaultError(
      'rule_broken',
      `${VERB} failed. The value for column ${column.name} of table ${table.name} ${error.message} (position ${index}).`,
      {
        table: table.name,
        column: column.name,
        index,
      },
    )
  }
}

/** Whether a live record holds each value, in any column of its scope; what digests claim is proven on the opened cell. */
async function liveValues(context: OperationContext, wanted: readonly Wanted[]): Promise<boolean[]> {
  const isLive: boolean[] = new Array(wanted.length).fill(false)
  const homes = new Map(wanted.flatMap((one) => one.homes).map((home) => [home.column, home]))
  for (const { table, column } of homes.values()) {
    const places = wanted.flatMap((one, place) =>
      !isLive[place] && one.homes.some((home) => home.column === column) ? [place] : [],
    )
    const digests = digestValues(
      context.barrier.ring,
      column,
      places.map((place) => wanted[place]?.value),
    )
    const rows = await findByDigest(context.storage, table, column, digests)
    const found = rows.filter((row) => row !== undefined)
    const cursor = openRows(context.barrier, table, found)
    let next = 0
    for (const [k, place] of places.entries()) {
      if (rows[k] === undefined) continue
      cursor.to(next++)
      isLive[place] = isSameValue(column, cursor.value(column), wanted[place]?.value)
    }
  }
  return isLive
}
