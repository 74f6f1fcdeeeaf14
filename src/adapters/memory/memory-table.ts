/** One table in memory: its rows by id, its ids in order, its indexes, and the single way to change a row. */

import { VaultError } from '../../core/errors.ts'
import type { PhysicalColumn, PhysicalTable } from '../../core/ports/storage.ts'
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
  /** Copies bytes that come in to stay. */
  readonly keepBytes: (bytes: Uint8Array) => Uint8Array
  readonly order: IdOrder
  nextId: number
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
  /** Ids whose rows differ here from what the indexes say. */
  readonly changedIds: readonly number[]
}

/** The table as it stands now, uncommitted changes included. */
export function currentView(table: MemoryTable): TableView {
  return { table, rowAt: (id) => table.rows.get(id), changedIds: [] }
}

/** Columns every table has and none lists. */
const ROW_COLUMNS: readonly PhysicalColumn[] = [
  { name: 'id', type: 'integer' },
  { name: 'version', type: 'integer' },
]

export function createTable({ name, columns, indexes }: PhysicalTable): MemoryTable {
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
  }
}

export function columnNamed(table: MemoryTable, name: string): StoredColumn {
  const column = table.columns.get(name)
  if (column !== undefined) return column
  throw new VaultError('internal', `table "${table.name}" has no column "${name}": prepare it first`, {
    table: table.name,
    column: name,
  })
}

/**
 * Makes `after` the row of this id, or takes the row away. Every change goes through here, undoing too.
 * Throws `conflict` before anything is changed where a unique index holds the same key for another row.
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

/** The new key for each index, `undefined` where nothing is to be added; refuses a key that another row holds. */
function keysOf(table: MemoryTable, id: number, before: StoredRow | undefined, after: StoredRow): (IndexKey | undefined)[] {
  return table.indexes.map((index) => {
    if (before !== undefined && sameKey(index.columns, before, after)) return undefined
    const key = indexKey(index.columns, after)
    if (key === undefined || !index.unique) return key
    const holder = index.ids.get(key)
    if (holder !== undefined && holder !== id) throw conflict(table.name, index.columns)
    return key
  })
}

/** True where both rows share the very same cells; stored cells are never changed in place, so this needs no deep look. */
function sameKey(columns: readonly string[], before: StoredRow, after: StoredRow): boolean {
  return columns.every((column) => before[column] === after[column])
}

export function conflict(table: string, columns: readonly string[], index?: number): VaultError {
  const message = `table "${table}" already holds this value of ${columns.join(', ')}: send another, or update the row that has it`
  return new VaultError('conflict', message, index === undefined ? { table, columns } : { table, columns, index })
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

/** The ids in numeric order, some of which may be gone; sorted again only when somebody asks. */
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

/** Every id this table holds, rising, and some it held until lately: an open transaction may put those back. */
export function idsInOrder({ order }: MemoryTable): readonly number[] {
  if (!order.sorted) order.ids.sort((left, right) => left - right)
  order.sorted = true
  return order.ids
}

/** Drops the ids that are gone, once they are many. To be called only while no transaction is open. */
export function sweepOrder({ order, rows }: MemoryTable): void {
  if (order.gone.size <= rows.size + 64) return
  order.ids = order.ids.filter((id) => !order.gone.has(id))
  order.gone.clear()
}
