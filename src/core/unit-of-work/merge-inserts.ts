/** Small inserts of one turn, gathered into one list so that many callers share one commit. */
import { mayBeStored } from '../errors.ts'
import type { Scheduler } from '../ports/scheduler.ts'
import type { NewRow } from '../ports/storage.ts'
import type { Send } from './group-commit.ts'
import { commitTogether } from './group-commit.ts'
import type { Batch } from './unit-of-work.ts'

/** An insert with more rows than this goes by itself: it has little to gain. */
const MOST_ROWS_A_CALL = 16
/** Bytes and characters of an insert that still goes with others. */
const MOST_LENGTH_A_CALL = 64 * 1024
/** Rows, and events, of one shared transaction. */
const MOST_ROWS_TOGETHER = 256

/** The way in of inserts: small ones share a commit, large ones go by themselves. */
export function shareInserts<T extends { readonly batches: readonly Batch[] }>(
  scheduler: Scheduler,
  insertAll: Send<T>,
): (insert: T) => Promise<void> {
  const together = commitTogether(insertAll, { ...company(scheduler), weigh: ({ batches }) => countRows(batches) })
  return (insert) => (isSmall(insert.batches) ? together(insert) : insertAll([insert]))
}

/** The way in of whatever counts for one. */
export function shareNotes<T>(scheduler: Scheduler, noteAll: Send<T>): (note: T) => Promise<void> {
  return commitTogether(noteAll, { ...company(scheduler), weigh: () => 1 })
}

function company(scheduler: Scheduler) {
  return { scheduler, most: MOST_ROWS_TOGETHER, isOnesOwnFault }
}

/** A storage that cannot be reached fails everybody: whether it stored the rows is unknown, so nobody's may be sent a second time. */
function isOnesOwnFault(error: unknown): boolean {
  return !mayBeStored(error)
}

/** The rows of all inserts, each table's together, tables in the order they first come. */
export function mergeBatches(inserts: readonly { readonly batches: readonly Batch[] }[]): Batch[] {
  const [only] = inserts
  if (only !== undefined && inserts.length === 1) return [...only.batches]
  const tables = new Map<string, NewRow[]>()
  for (const { batches } of inserts) {
    for (const { table, rows } of batches) {
      const merged = tables.get(table)
      if (merged === undefined) tables.set(table, [...rows])
      else merged.push(...rows)
    }
  }
  return [...tables].map(([table, rows]) => ({ table, rows }))
}

function countRows(batches: readonly Batch[]): number {
  return batches.reduce((sum, { rows }) => sum + rows.length, 0)
}

function isSmall(batches: readonly Batch[]): boolean {
  if (countRows(batches) > MOST_ROWS_A_CALL) return false
  let length = 0
  for (const { rows } of batches) {
    for (const row of rows) {
      for (const column in row) {
        const cell = row[column]
        if (typeof cell === 'string' || cell instanceof Uint8Array) length += cell.length
      }
    }
  }
  return length <= MOST_LENGTH_A_CALL
}
