/** Commits of many rows: the event loop has its turns while they are inserted, because the driver answers at once. */
import { isVaultError } from '../../core/errors.ts'
import type { Changes, NewRow } from '../../core/ports/storage.ts'
import { at } from '../../core/util/at.ts'
import { conflictError } from '../errors/storage-errors.ts'

/** Rows between two turns. With turns in shorter commits, a thousand records of three rows each took up to a tenth more CPU. */
const ROWS_OF_TURN = 4000

/** Inserts rows of one table. Throws `conflict` with the index in this list. */
type Insert = (table: string, newRows: readonly NewRow[]) => void

/** True for a commit that takes turns. */
export function isLongCommit({ inserts }: Pick<Changes, 'inserts'>): boolean {
  let count = 0
  for (const { rows } of inserts) count += rows.length
  return count > ROWS_OF_TURN
}

/**
 * Inserts all rows in order, with a turn before every `ROWS_OF_TURN`: before the first, too, because sealing them took a while. Inside a
 * transaction or savepoint, which is rolled back if it rejects.
 */
export async function insertInTurns(
  { inserts }: Pick<Changes, 'inserts'>,
  insert: Insert,
  takeTurn: () => Promise<void>,
): Promise<void> {
  let sinceTurn = ROWS_OF_TURN
  for (const { table, rows } of inserts) {
    for (let start = 0; start < rows.length; ) {
      if (sinceTurn >= ROWS_OF_TURN) {
        await takeTurn()
        sinceTurn = 0
      }
      const slice = rows.slice(start, start + ROWS_OF_TURN - sinceTurn)
      try {
        insert(table, slice)
      } catch (error) {
        throw inWholeList(error, start)
      }
      start += slice.length
      sinceTurn += slice.length
    }
  }
}

/** Returns an error of a slice as one of the whole list: the index of its row counts from the start of that. */
export function inWholeList(error: unknown, start: number): unknown {
  if (start === 0 || !isVaultError(error, 'conflict')) return error
  const { table = '', columns = [], index } = at(error.details, 0)
  if (index === undefined) return error
  return conflictError(
    table,
    columns,
    error.cause instanceof Error ? { index: start + index, cause: error.cause } : { index: start + index },
  )
}
