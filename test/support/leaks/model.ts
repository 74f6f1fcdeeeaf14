/** The contents of a vault as its owner reads them, and the canaries in it that a limited caller may see. */

import type { AskedRow } from '../policies/random-policies.ts'
import type { LooseSession } from '../vaults/open-untyped.ts'
import type { Canaries } from './canaries.ts'
import { NO_ROW, type Oracle } from './oracle.ts'
import { isSealed, type LeakColumn, type LeakTable, tokenKindOf } from './schemas.ts'

/** One stored record, without transient values. */
export interface ModelRow {
  readonly table: LeakTable
  readonly id: string
  readonly values: Readonly<Record<string, unknown>>
  readonly asked: AskedRow
}

/** The cell of a token. */
export interface TokenLocation {
  readonly row: ModelRow
  readonly column: LeakColumn
}

/** All stored records and their tokens. */
export interface Model {
  readonly rows: readonly ModelRow[]
  readonly homes: ReadonlyMap<string, readonly TokenLocation[]>
}

const MANY = 1000

/** Reads all records and tokens as the owner. */
export async function readModel(owner: LooseSession, tables: readonly LeakTable[]): Promise<Model> {
  const rows: ModelRow[] = []
  const homes = new Map<string, readonly TokenLocation[]>()
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
  for (const [token, [first]] of homes)
    if (first !== undefined && isDerived(token, first)) homes.set(token, cellsLike(first, rows))
  return { rows, homes }
}

/** The forms of tokens that are derived from values. The vault accepts no supplied token of such a form. */
const DERIVED: Readonly<Record<string, RegExp>> = {
  deterministic: /^[0-9a-f]{8}-[0-9a-f]{4}-8/,
  deterministicFormatPreserving: /^[0-9]+$/,
}

function isDerived(token: string, { column }: TokenLocation): boolean {
  return DERIVED[tokenKindOf(column) ?? '']?.test(token) === true
}

/** The cells with the value of this one in its scope. A derived token is valid for all of them, also where the token view has a supplied one. */
function cellsLike({ row, column }: TokenLocation, rows: readonly ModelRow[]): readonly TokenLocation[] {
  const { columnGroup } = column.definition
  const isInScope = (table: LeakTable, other: LeakColumn) =>
    columnGroup === undefined ? table === row.table && other === column : other.definition.columnGroup === columnGroup
  return rows.flatMap((one) =>
    one.table.columns
      .filter((other) => isInScope(one.table, other) && one.values[other.name] === row.values[column.name])
      .map((other) => ({ row: one, column: other })),
  )
}

/** A canary that was written to a transient column. */
export interface Apart {
  readonly id: number
  readonly table: LeakTable
  readonly column: LeakColumn
}

/** Canaries by where they may occur. */
export interface Sightings {
  /** Canaries that some cell shows to the caller in plain text. */
  readonly visible: ReadonlySet<number>
  /** Canaries in plain columns, which storage holds in plain text. */
  readonly plain: ReadonlySet<number>
}

/** Collects the canaries of a model, for the caller of the oracle. */
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

/** The oracle, and the canaries to search for. */
export interface SightedBy {
  readonly canaries: Canaries
  readonly oracle: Oracle
}

function mayMeetApart(oracle: Oracle, table: LeakTable, column: LeakColumn): boolean {
  return oracle.level(table, column, NO_ROW) === 'PLAIN_TEXT' && oracle.may('DETOKENIZATION', table, column, NO_ROW)
}

/** The canaries that a request writes to transient columns. */
export function apartIn(table: LeakTable | undefined, request: unknown, canaries: Canaries): Apart[] {
  const transient = table?.columns.filter((column) => tokenKindOf(column) === 'transient') ?? []
  if (table === undefined || transient.length === 0) return []
  return transient.flatMap((column) =>
    valuesUnder(request, column.name).flatMap((value) => [...canaries.findIn(spelt(value))].map((id) => ({ id, table, column }))),
  )
}

/** Every value under this name, at any depth. */
function valuesUnder(part: unknown, name: string): unknown[] {
  if (typeof part !== 'object' || part === null) return []
  return Object.entries(part).flatMap(([key, value]) => [...(key === name ? [value] : []), ...valuesUnder(value, name)])
}

/** A value as a result writes it, without JSON escapes. A BigInt, which an invalid request can hold, is its digits. */
export function spelt(value: unknown): string {
  return typeof value === 'string' ? value : String(JSON.stringify(value, withDigits))
}

/** For `JSON.stringify`, which cannot write a BigInt: its digits as a text. */
export function withDigits(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}
