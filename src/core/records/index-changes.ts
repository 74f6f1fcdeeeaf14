/** What writes of records change in the sealed indexes of their table. */
import type { Barrier } from '../barrier/barrier.ts'
import type { Values } from '../barrier/parse-record.ts'
import { type OpenRows, openRows } from '../barrier/reveal.ts'
import { isVaultError } from '../errors.ts'
import { type IndexChanges, notFull } from '../index-runs/delta.ts'
import { sealErased } from '../index-runs/erased-rows.ts'
import { indexKeys } from '../index-runs/trigrams.ts'
import type { Pace } from '../pace/pace.ts'
import type { Patch, Row, StorageReads } from '../ports/storage.ts'
import { IS_INDEXED } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { INDEX_RUNS } from '../schema/system-tables.ts'
import { DeltaBatch, type IndexNotes } from '../unit-of-work/delta-batch.ts'
import type { Batch } from '../unit-of-work/unit-of-work.ts'
import { at, required } from '../util/lists.ts'

/** Whose indexes are written, and with which keys. */
interface Indexing {
  readonly barrier: Barrier
  readonly indexNotes: IndexNotes
}

/** Returns the batches to store with a write, one for each of its changes. */
export async function deltaOf(
  storage: Pick<StorageReads, 'reserveIds'>,
  { barrier: to, indexNotes: notes }: Indexing,
  table: Table,
  changes: readonly IndexChanges[],
): Promise<readonly DeltaBatch[]> {
  const ids = changes.length === 0 ? [] : await storage.reserveIds(INDEX_RUNS.name, changes.length)
  return changes.map((one, position) => new DeltaBatch({ to, table, id: at(ids, position), changes: [one], notes }))
}

/**
 * Returns the batch with which a write says that its keys must leave the indexes of a table for good, in the blocks that have them already too. What deltas
 * take back goes by itself then; `unread` are rows of which they could not.
 */
export async function erasureOf(
  storage: Pick<StorageReads, 'reserveIds'>,
  { barrier, indexNotes }: Indexing,
  table: Table,
  unread: readonly number[] = [],
): Promise<Batch> {
  const [id] = await storage.reserveIds(INDEX_RUNS.name, 1)
  indexNotes.noteErased()
  return { table: INDEX_RUNS.name, rows: [sealErased(barrier, required(id), table, unread)] }
}

/** Returns the changes of new records. The trigrams of long texts take longer than all else of an insert, so that it takes turns at a pace. */
export async function changesOfNew(
  { indexed }: Table,
  { records, ids }: { readonly records: readonly Values[]; readonly ids: readonly number[] },
  pace: Pick<Pace, 'worked'> | undefined,
): Promise<readonly IndexChanges[]> {
  const changes: IndexChanges[] = []
  for (let row = 0; row < ids.length; row++) {
    let bytes = 0
    const delta = notFull(changes)
    for (const { column, index } of indexed) {
      const keys = indexKeys(index.kind, column.type, records[row]?.[column.position] ?? null)
      delta.add(index.objectId, keys, at(ids, row), index.kind)
      bytes += keys.length
    }
    await pace?.worked(bytes)
  }
  return changes
}

/** The changes of records that are written over rows. */
export class OverwrittenKeys {
  readonly changes: IndexChanges[] = []
  readonly #table: Table
  readonly #rows: readonly Row[]
  readonly #records: readonly Values[]
  #marksSome = false

  constructor(table: Table, { rows, records }: { readonly rows: readonly Row[]; readonly records: readonly Values[] }) {
    this.#table = table
    this.#rows = rows
    this.#records = records
  }

  /**
   * Notes what changes in the row at an index, which a cursor is at. An index that does not have the row yet gets it, as far as its value is written. A value
   * that stays the same goes and comes too: else the delta, or that there is none, would say so.
   */
  readonly note = (position: number, cursor: OpenRows): void => {
    const [row, values] = [at(this.#rows, position), at(this.#records, position)]
    for (const { column, index } of this.#table.indexed) {
      const value = values[column.position]
      if (value === undefined) continue
      if (row[index.cell] === IS_INDEXED) {
        const old = indexKeys(index.kind, column.type, cursor.value(column))
        notFull(this.changes).remove(index.objectId, old, row.id, index.kind)
      } else this.#marksSome = true
      notFull(this.changes).add(index.objectId, indexKeys(index.kind, column.type, value), row.id, index.kind)
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

/** Returns the changes of rows that are deleted, and the rows that cannot be opened, of which indexes keep what they have. */
export function changesOfDeleted(
  barrier: Barrier,
  table: Table,
  rows: readonly Row[],
): { readonly changes: readonly IndexChanges[]; readonly unread: readonly number[] } {
  const changes: IndexChanges[] = []
  const unread: number[] = []
  const cursor = openRows(barrier, table, rows)
  for (const [position, row] of rows.entries()) {
    if (!canOpen(cursor, position)) {
      unread.push(row.id)
      continue
    }
    for (const { column, index } of table.indexed) {
      if (row[index.cell] !== IS_INDEXED) continue
      notFull(changes).remove(index.objectId, indexKeys(index.kind, column.type, cursor.value(column)), row.id, index.kind)
    }
  }
  return { changes, unread }
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
