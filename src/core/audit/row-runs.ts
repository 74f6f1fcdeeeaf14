/** Row ids as runs of neighbors: a thousand records inserted together take one pair of numbers. */
import { MAX_ROW_ID } from '../ports/storage.ts'

/**
 * Returns `[first row, count]` for each run, in the order given. Leaves out numbers that are no row ids: a row whose id was changed in
 * the database is no record, and must not make the event of its read unreadable.
 */
export function toRuns(rows: readonly number[]): (readonly [first: number, count: number])[] {
  const only = rows.length === 1 ? rows[0] : undefined
  if (only !== undefined) return isRowId(only) ? [[only, 1]] : []
  const runs: [number, number][] = []
  for (const row of rows) {
    if (!isRowId(row)) continue
    const last = runs.at(-1)
    if (last !== undefined && last[0] + last[1] === row) last[1]++
    else runs.push([row, 1])
  }
  return runs
}

/** Returns the rows without numbers that are no row ids: the list itself, if there are none. */
export function onlyRowIds(rows: readonly number[]): readonly number[] {
  for (const row of rows) if (!isRowId(row)) return rows.filter(isRowId)
  return rows
}

function isRowId(row: number): boolean {
  return row >= 1 && row <= MAX_ROW_ID
}

/** Returns the rows of these runs, in order. */
export function fromRuns(runs: readonly (readonly [first: number, count: number])[]): number[] {
  const rows: number[] = []
  for (const [first, count] of runs) {
    for (let row = first; row < first + count; row++) rows.push(row)
  }
  return rows
}
