/** What writes of records change in the sealed indexes of their table. */
import type { Barrier } from '../barrier/barrier.ts'
import type { Values } from '../barrier/parse-record.ts'
import { type OpenRows, openRows } from '../barrier/reveal.ts'
import { isVaultError } from '../errors.ts'
import { IndexChanges } from '../index-runs/delta.ts'
import { compareKeys } from '../index-runs/order-key.ts'
import { indexKeys } from '../index-runs/trigrams.ts'
import type { Patch, Row, StorageReads } from '../ports/storage.ts'
import { IS_INDEXED } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { INDEX_RUNS } from '../schema/system-tables.ts'
import { DeltaBatch } from '../unit-of-work/delta-batch.ts'
import { at, required } from '../util/lists.ts'

/** Returns the batch to store with a write; none if it changes nothing in an index. */
export async function deltaOf(
  storage: Pick<StorageReads, 'reserveIds'>,
  to: Barrier,
  table: Table,
  changes: IndexChanges,
): Promise<readonly DeltaBatch[]> {
  if (changes.length === 0) return []
  const [id] = await storage.reserveIds(INDEX_RUNS.name, 1)
  return [new DeltaBatch({ to, table, id: required(id), changes: [changes] })]
}

/** Returns the changes of new records. */
export function changesOfNew({ indexed }: Table, records: readonly Values[], ids: readonly number[]): IndexChanges {
  const changes = new IndexChanges()
  for (const { column, index } of indexed) {
    const { type, position } = column
    for (let row = 0; row < ids.length; row++) {
      const keys = indexKeys(index.kind, type, records[row]?.[position] ?? null)
      changes.add(index.objectId, keys, at(ids, row), index.kind)
    }
  }
  return changes
}

/** The changes of records that are written over rows. */
export class OverwrittenKeys {
  readonly changes = new IndexChanges()
  readonly #table: Table
  readonly #rows: readonly Row[]
  readonly #records: readonly Values[]
  #marksSome = false

  constructor(table: Table, { rows, records }: { readonly rows: readonly Row[]; readonly records: readonly Values[] }) {
    this.#table = table
    this.#rows = rows
    this.#records = records
  }

  /** Notes what changes in the row at an index, which a cursor is at. An index that does not have the row yet gets it, as far as its value is written. */
  readonly note = (position: number, cursor: OpenRows): void => {
    const [row, values] = [at(this.#rows, position), at(this.#records, position)]
    for (const { column, index } of this.#table.indexed) {
      const value = values[column.position]
      if (value === undefined) continue
      const keys = indexKeys(index.kind, column.type, value)
      if (row[index.cell] === IS_INDEXED) {
        const old = indexKeys(index.kind, column.type, cursor.value(column))
        if (compareKeys(old, keys) === 0) continue
        this.changes.remove(index.objectId, old, row.id, index.kind)
      } else this.#marksSome = true
      this.changes.add(index.objectId, keys, row.id, index.kind)
    }
  }

  /** Returns the patches of the rows, which say what indexes have of them from now on. */
  marked(patches: readonly Patch[]): readonly Patch[] {
    if (!this.#marksSome) return patches
    return patches.map((patch, position) => {
      const set = this.#table.indexed.flatMap(({ column, index: { cell } }) => {
        const isMissing = this.#records[position]?.[column.position] !== undefined && this.#rows[position]?.[cell] !== IS_INDEXED
        return isMissing ? [[cell, IS_INDEXED] as const] : []
      })
      return set.length === 0 ? patch : { ...patch, set: { ...patch.set, ...Object.fromEntries(set) } }
    })
  }
}

/** Returns the changes of rows that are deleted. Of a row that cannot be opened, indexes keep what they have. */
export function changesOfDeleted(barrier: Barrier, table: Table, rows: readonly Row[]): IndexChanges {
  const changes = new IndexChanges()
  const cursor = openRows(barrier, table, rows)
  for (const [position, row] of rows.entries()) {
    if (!canOpen(cursor, position)) continue
    for (const { column, index } of table.indexed) {
      if (row[index.cell] !== IS_INDEXED) continue
      changes.remove(index.objectId, indexKeys(index.kind, column.type, cursor.value(column)), row.id, index.kind)
    }
  }
  return changes
}

function canOpen(cursor: OpenRows, position: number): boolean {
  try {
    cursor.to(position)
    return true
  } catch (error) {
    if (isVaultError(error, 'data_loss')) return false
    throw error
  }
}
