/** One table in memory: its rows by id, its ids in order, its indexes, and the one function that changes a row. */

import type { PhysicalColumn, PhysicalTable } from '../../core/ports/storage.ts'
import { conflictError, unknownColumnError } from '../errors/storage-errors.ts'
import { type IndexKey, indexKey } from './index-key.ts'
import { createBytesCopier, type StoredColumn, type StoredRow } from './stored-cell.ts'

export interface MemoryTable {
  readonly name: string
  /** Every column by name, `id` and `version` too. */
  readonly columns: ReadonlyMap<string, StoredColumn>
  readonly bytesColumns: readonly string[]
  /** A row of nulls: all rows are made from it, so that they share one shape. */
  readonly blank: StoredRow
  readonly indexes: readonly MemoryIndex[]
  readonly rows: Map<number, StoredRow>
  /** Copies bytes that are stored. */
  readonly keepBytes: (bytes: Uint8Array) => Uint8Array
  readonly order: IdOrder
  nextId: number
  /** The highest inserted ids; undefined unless ids must rise in the order of commits. */
  readonly latest: LatestIds | undefined
}

/** The highest id that was inserted before the open transaction, and now. */
export interface LatestIds {
  committed: number
  inserted: number
}

/** Ids by key. A unique index holds one id per key; another holds one id or a set. */
export interface MemoryIndex {
  readonly columns: readonly string[]
  readonly unique: boolean
  readonly ids: Map<IndexKey, number | Set<number>>
}

/** What a reader sees of a table. */
export interface TableView {
  readonly table: MemoryTable
  rowAt(id: number): StoredRow | undefined
  /** Ids whose rows differ here from the indexes. */
  readonly changedIds: readonly number[]
}

/** The table now, uncommitted changes included. */
export function currentView(table: MemoryTable): TableView {
  return { table, rowAt: (id) => table.rows.get(id), changedIds: [] }
}

/** Columns every table has without listing them. */
const ROW_COLUMNS: readonly PhysicalColumn[] = [
  { name: 'id', type: 'integer' },
  { name: 'version', type: 'integer' },
]

export function createTable({ name, columns, indexes, isOrdered }: PhysicalTable): MemoryTable {
  const blank: StoredRow = { id: 0, version: 1 }
  for (const column of columns) blank[column.name] = null
  return {
    name,
    columns: new Map([...ROW_COLUMNS, ...columns].map((each) => [each.name, { ...each, table: name }])),
    bytesColumns: columns.filter((each) => each.type === 'bytes').map((each) => each.name),
    blank,
    indexes: indexes.map((each) => ({ columns: each.columns, unique: each.unique, ids: new Map() })),
    rows: new Map(),
    keepBytes: createBytesCopier(),
    order: { ids: [], gone: new Set(), sorted: true },
    nextId: 1,
    latest: isOrdered === true ? { committed: 0, inserted: 0 } : undefined,
  }
}

export function columnNamed(table: MemoryTable, name: string): StoredColumn {
  const column = table.columns.get(name)
  if (column !== undefined) return column
  throw unknownColumnError(table.name, name)
}

/**
 * Makes `after` the row of this id, or removes the row. Every change goes through here, also undoing one.
 * Throws `conflict` before anything is changed if a unique index has the same key for another row.
 */
export function putRow(table: MemoryTable, id: number, after: StoredRow | undefined): void {
  const before = table.rows.get(id)
  const keys = after === undefined ? [] : keysOf(table, id, before, after)
  if (before !== undefined) dropFromIndexes(table.indexes, before, after)
  if (after === undefined) {
    if (table.rows.delete(id)) table.order.gone.add(id)
    return
  }
  for (const [position, index] of table.indexes.entries()) {
    const key = keys[position]
    if (key !== undefined) addToIndex(index, key, id)
  }
  table.rows.set(id, after)
  if (before === undefined) addToOrder(table, id)
  if (id >= table.nextId) table.nextId = id + 1
}

/** The new key for each index, `undefined` if nothing is added. Throws `conflict` for a key of another row. */
function keysOf(table: MemoryTable, id: number, before: StoredRow | undefined, after: StoredRow): (IndexKey | undefined)[] {
  return table.indexes.map((index) => {
    if (before !== undefined && sameKey(index.columns, before, after)) return undefined
    const key = indexKey(index.columns, after)
    if (key === undefined || !index.unique) return key
    const holder = index.ids.get(key)
    if (holder !== undefined && holder !== id) throw conflictError(table.name, index.columns)
    return key
  })
}

/** True if both rows share the same cells. Stored cells never change in place, so identity suffices. */
function sameKey(columns: readonly string[], before: StoredRow, after: StoredRow): boolean {
  return columns.every((column) => before[column] === after[column])
}

function dropFromIndexes(indexes: readonly MemoryIndex[], before: StoredRow, after: StoredRow | undefined): void {
  for (const { columns, ids } of indexes) {
    if (after !== undefined && sameKey(columns, before, after)) continue
    const key = indexKey(columns, before)
    if (key === undefined) continue
    const held = ids.get(key)
    if (typeof held === 'object' && held.delete(before.id) && held.size > 0) continue
    ids.delete(key)
  }
}

function addToIndex(index: MemoryIndex, key: IndexKey, id: number): void {
  const held = index.ids.get(key)
  if (held === undefined || index.unique) index.ids.set(key, id)
  else if (typeof held === 'number') index.ids.set(key, new Set([held, id]))
  else held.add(id)
}

/** The ids in numeric order, some of which may be gone; sorted again only when read. */
interface IdOrder {
  ids: number[]
  readonly gone: Set<number>
  sorted: boolean
}

function addToOrder({ order }: MemoryTable, id: number): void {
  if (order.gone.delete(id)) return
  if (id < (order.ids.at(-1) ?? Number.NEGATIVE_INFINITY)) order.sorted = false
  order.ids.push(id)
}

/** Every id of this table, rising, and some deleted lately: an open transaction may restore those. */
export function idsInOrder({ order }: MemoryTable): readonly number[] {
  if (!order.sorted) order.ids.sort((left, right) => left - right)
  order.sorted = true
  return order.ids
}

/** Drops the ids that are gone, once they are many. Must be called only while no transaction is open. */
export function sweepOrder({ order, rows }: MemoryTable): void {
  if (order.gone.size <= rows.size + 64) return
  order.ids = order.ids.filter((id) => !order.gone.has(id))
  order.gone.clear()
}
