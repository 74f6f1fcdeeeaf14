/** Groups small inserts and single events of one event-loop turn into shared commits, and merges their rows. */
import { isVaultError, mayBeStored } from '../errors.ts'
import type { NewRow } from '../ports/storage.ts'
import { append } from '../util/lists.ts'
import { createGroupCommit, type EventLoopTurns, type Send } from './group-commit.ts'
import { isIdConflict } from './id-conflict.ts'
import type { Batch } from './unit-of-work.ts'

/** Maximum number of rows of an insert that shares a commit. A larger one gains little. */
const MAX_ROWS_TO_SHARE = 16
/** Maximum length of the cells of an insert that shares a commit, in bytes and UTF-16 units. */
const MAX_LENGTH_TO_SHARE = 64 * 1024
/** Maximum number of rows, or of events, in a shared transaction. */
const MAX_ROWS_TOGETHER = 256

/** An insert, and the generation of the catalog it was made with. */
export interface GroupedInsert {
  readonly batches: readonly Batch[]
  readonly generation: number
}

/** Returns the generation that changes have in common, or the oldest. The group then fails, and each change is stored alone. */
export function oldestGeneration(changes: readonly { readonly generation: number }[]): number {
  return changes.reduce((oldest, { generation }) => Math.min(oldest, generation), Number.POSITIVE_INFINITY)
}

/** Returns a function that inserts: small inserts share a commit, large ones are sent alone. */
export function groupInserts<T extends GroupedInsert>(loop: EventLoopTurns, send: Send<T>): (insert: T) => Promise<void> {
  const grouped = createGroupCommit(send, {
    ...loop,
    maxWeight: MAX_ROWS_TOGETHER,
    weightOf: ({ batches }) => countRows(batches),
    // Inserts whose ids came too late get others, and meet again. An item without a row of their table is sent alone.
    retriesAlone: (error, { batches }) => !mayBeStored(error) && !(isIdConflict(error) && haveRowsOf(batches, error)),
  })
  return (insert) => (isSmall(insert.batches) ? grouped(insert) : send([insert]))
}

/** Returns a function that stores one event; the events of one turn share a commit. */
export function groupEvents<T>(loop: EventLoopTurns, send: Send<T>): (event: T) => Promise<void> {
  const retriesAlone = (error: unknown) => !mayBeStored(error)
  return createGroupCommit(send, { ...loop, maxWeight: MAX_ROWS_TOGETHER, weightOf: () => 1, retriesAlone })
}

/** True if there are rows of the table of a conflict. */
function haveRowsOf(batches: readonly Batch[], error: unknown): boolean {
  const [detail] = isVaultError(error, 'conflict') ? error.details : []
  return batches.some(({ table, rows }) => table === detail?.table && rows.length > 0)
}

/** Returns the rows of all inserts, one batch for each table, in the order in which the tables first occur. */
export function mergeBatches(inserts: readonly { readonly batches: readonly Batch[] }[]): Batch[] {
  const [only] = inserts
  if (only !== undefined && inserts.length === 1) return [...only.batches]
  const tables = new Map<string, NewRow[]>()
  for (const { batches } of inserts) {
    for (const { table, rows } of batches) {
      const merged = tables.get(table)
      if (merged === undefined) tables.set(table, [...rows])
      else append(merged, rows)
    }
  }
  return [...tables].map(([table, rows]) => ({ table, rows }))
}

function countRows(batches: readonly Batch[]): number {
  return batches.reduce((sum, { rows }) => sum + rows.length, 0)
}

function isSmall(batches: readonly Batch[]): boolean {
  if (countRows(batches) > MAX_ROWS_TO_SHARE) return false
  let length = 0
  for (const { rows } of batches) {
    for (const row of rows) {
      for (const column in row) {
        const cell = row[column]
        if (typeof cell === 'string' || cell instanceof Uint8Array) length += cell.length
      }
    }
  }
  return length <= MAX_LENGTH_TO_SHARE
}
