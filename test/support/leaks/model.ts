/** What a vault holds, read by its owner in plain text, and which canaries of it a limited caller may come to see. */

import type { AskedRow } from '../policies/random-policies.ts'
import type { LooseSession } from '../vaults/open-untyped.ts'
import type { Canaries } from './canaries.ts'
import type { Oracle } from './oracle.ts'
import { NO_ROW } from './oracle.ts'
import type { LeakColumn, LeakTable } from './schemas.ts'
import { isSealed, tokenKindOf } from './schemas.ts'

/** One record as it stands. Values that live apart from it are not in it. */
export interface ModelRow {
  readonly table: LeakTable
  readonly id: string
  readonly values: Readonly<Record<string, unknown>>
  readonly asked: AskedRow
}

/** A cell a token stands for. */
export interface TokenHome {
  readonly row: ModelRow
  readonly column: LeakColumn
}

/** All that stands. */
export interface Model {
  readonly rows: readonly ModelRow[]
  readonly homes: ReadonlyMap<string, readonly TokenHome[]>
}

const MANY = 1000

/** Reads everything. */
export async function readModel(owner: LooseSession, tables: readonly LeakTable[]): Promise<Model> {
  const rows: ModelRow[] = []
  const homes = new Map<string, TokenHome[]>()
  for (const table of tables) {
    const { records } = await owner.get(table.name, { redaction: 'PLAIN_TEXT', limit: MANY })
    const views = await owner.get(table.name, { tokenization: true, limit: MANY })
    for (const [index, { id, fields }] of records.entries()) {
      const row = { table, id, values: fields, asked: { region: fields.region, grade: fields.grade } }
      rows.push(row)
      for (const [name, token] of Object.entries(views.records[index]?.tokens ?? {})) {
        const column = table.columns.find((one) => one.name === name)
        if (column !== undefined) homes.set(token, [...(homes.get(token) ?? []), { row, column }])
      }
    }
  }
  return { rows, homes }
}

/** A canary that was given to a column whose values live apart. */
export interface Apart {
  readonly id: number
  readonly table: LeakTable
  readonly column: LeakColumn
}

/** Canaries by who may meet them. */
export interface Sightings {
  /** Some cell with this canary shows it to the caller in plain text. */
  readonly visible: ReadonlySet<number>
  /** Some plain column holds it: storage sees it. */
  readonly plain: ReadonlySet<number>
}

/** Which canaries stand where, for the caller the oracle speaks of. */
export function sight(model: Model, apart: readonly Apart[], { canaries, oracle }: SightedBy): Sightings {
  const visible = new Set<number>()
  const plain = new Set<number>()
  for (const { table, column, asked, value } of cellsOf(model)) {
    const isVisible = oracle.level(table, column, asked) === 'PLAIN_TEXT'
    for (const id of isVisible || !isSealed(column) ? canaries.findIn(spelt(value)) : []) {
      if (isVisible) visible.add(id)
      if (!isSealed(column)) plain.add(id)
    }
  }
  for (const { id, table, column } of apart) if (mayMeetApart(oracle, table, column)) visible.add(id)
  return { visible, plain }
}

/** Every cell that holds a value. */
function cellsOf({ rows }: Model) {
  return rows.flatMap(({ table, asked, values }) =>
    table.columns
      .map((column) => ({ table, column, asked, value: values[column.name] ?? null }))
      .filter(({ value }) => value !== null),
  )
}

/** Who judges, and what is sought. */
export interface SightedBy {
  readonly canaries: Canaries
  readonly oracle: Oracle
}

function mayMeetApart(oracle: Oracle, table: LeakTable, column: LeakColumn): boolean {
  return oracle.level(table, column, NO_ROW) === 'PLAIN_TEXT' && oracle.may('DETOKENIZATION', table, column, NO_ROW)
}

/** The canaries that a request gives to columns whose values live apart. */
export function apartIn(table: LeakTable | undefined, request: unknown, canaries: Canaries): Apart[] {
  const transient = table?.columns.filter((column) => tokenKindOf(column) === 'transient') ?? []
  if (table === undefined || transient.length === 0) return []
  return transient.flatMap((column) =>
    valuesUnder(request, column.name).flatMap((value) => [...canaries.findIn(spelt(value))].map((id) => ({ id, table, column }))),
  )
}

/** Every value that stands under this name, however deep. */
function valuesUnder(part: unknown, name: string): unknown[] {
  if (typeof part !== 'object' || part === null) return []
  return Object.entries(part).flatMap(([key, value]) => [...(key === name ? [value] : []), ...valuesUnder(value, name)])
}

/** A value as an answer would spell it, without the escapes of JSON. */
export function spelt(value: unknown): string {
  return typeof value === 'string' ? value : String(JSON.stringify(value))
}
