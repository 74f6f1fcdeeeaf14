/** One table in memory: its rows by id, its ids in order, its indexes, and the one function that changes a row. */
import type { Filter, PhysicalColumn, PhysicalTable } from '../../core/ports/storage.ts'
import { conflictError, unknownColumnError } from '../errors/storage-errors.ts'
import { createBytesCopier, type IndexKey, indexKey, type StoredColumn, type StoredRow } from './stored-cell.ts'

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
  /** The id of every row. */
  readonly order: IdOrder
  /** Changes of rows so far. */
  changes: number
  /** What long filters come to, for the pages after the first. */
  readonly plans: WeakMap<Filter, FilterPlan>
  nextId: number
  /** The highest inserted ids; undefined unless ids must rise in the order of commits. */
  readonly latest: LatestIds | undefined
}

/** What a filter comes to until a row changes. */
export interface FilterPlan {
  readonly matches: (row: StoredRow) => boolean
  /** Rising ids that include every match. */
  readonly ids: readonly number[]
  /** The changes of the table when the ids were found. */
  readonly changes: number
}

/** The highest id that was inserted before the open transaction, and now. */
export interface LatestIds {
  committed: number
  inserted: number
}

/** Ids by key. A unique index holds one id per key; another holds one id, or several in order. */
interface MemoryIndex {
  readonly columns: readonly string[]
  readonly unique: boolean
  readonly ids: Map<IndexKey, number | IdOrder>
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
    order: createOrder(),
    changes: 0,
    plans: new WeakMap(),
    nextId: 1,
    latest: isOrdered === true ? { committed: 0, inserted: 0 } : undefined,
  }
}

/** The columns of a table besides `id` and `version`. */
export function columnsOf(table: MemoryTable): PhysicalColumn[] {
  return [...table.columns.values()].filter(({ name }) => name !== 'id' && name !== 'version')
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
  table.changes++
  if (before !== undefined) dropFromIndexes(table.indexes, before, after)
  if (after === undefined) {
    if (table.rows.delete(id)) dropId(table.order, id)
    return
  }
  for (const [position, index] of table.indexes.entries()) {
    const key = keys[position]
    if (key !== undefined) addToIndex(index, key, id)
  }
  table.rows.set(id, after)
  if (before === undefined) addId(table.order, id)
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
    if (typeof held === 'object') {
      dropId(held, before.id)
      sweep(held)
      if (countOf(held) > 0) continue
    }
    ids.delete(key)
  }
}

function addToIndex(index: MemoryIndex, key: IndexKey, id: number): void {
  const held = index.ids.get(key)
  if (held === undefined || index.unique) index.ids.set(key, id)
  else if (typeof held === 'number') index.ids.set(key, createOrder([held, id]))
  else addId(held, id)
}

/**
 * Drops the ids that are gone, once they are many. Must be called only while no transaction is open: one that is open may restore its rows, and readers outside
 * still see them.
 */
export function sweepOrder({ order }: MemoryTable): void {
  sweep(order)
}

/** Ids, of which some may be gone. */
export interface IdOrder {
  ids: number[]
  readonly gone: Set<number>
  sorted: boolean
}

function createOrder(ids: number[] = []): IdOrder {
  return { ids, gone: new Set(), sorted: ids.length < 2 }
}

function addId(order: IdOrder, id: number): void {
  if (order.gone.delete(id)) return
  if (id < (order.ids.at(-1) ?? Number.NEGATIVE_INFINITY)) order.sorted = false
  order.ids.push(id)
}

function dropId({ gone }: IdOrder, id: number): void {
  gone.add(id)
}

/** Number of ids that are not gone. */
export function countOf({ ids, gone }: IdOrder): number {
  return ids.length - gone.size
}

/** Every id, rising, and some that are gone. */
export function idsOf(order: IdOrder): readonly number[] {
  if (!order.sorted) order.ids.sort((left, right) => left - right)
  order.sorted = true
  return order.ids
}

/** Drops the ids that are gone, once they are more than the others. So each id costs the same, however many there are. */
function sweep(order: IdOrder): void {
  if (order.gone.size <= countOf(order) + 64) return
  order.ids = order.ids.filter((id) => !order.gone.has(id))
  order.gone.clear()
}
