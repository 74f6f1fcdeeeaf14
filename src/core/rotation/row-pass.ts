/** Passes over the rows of a table, by rising ids, beside writers: a page of rows is one slice, and rows that others change meanwhile are read again. */
import type { JobPlace, MaintenancePass } from '../maintenance/job.ts'
import { createPageSize, possibleRows } from '../pace/pace.ts'
import type { Filter, Patch, Row, Storage } from '../ports/storage.ts'
import { present } from '../util/lists.ts'

/** Where a pass begins, and how it says where it is. */
export interface PassPlace {
  /** The row after which it begins. */
  readonly after: number
  /** Returns the place of the job after a row. */
  placeAt(row: number): JobPlace
}

/** The rows of a pass. */
interface PassRows extends Pick<PassPlace, 'after'> {
  /** Physical name. */
  readonly table: string
  /** The name that the progress has. Default: the physical one. */
  readonly name?: string
  /** Default: all rows. */
  readonly filter?: Filter | undefined
  /** Default: all columns. */
  readonly columns?: readonly string[]
  /** Number of rows of the first slice. Default 64. */
  readonly first?: number
  /** Maximum number of rows of a slice. */
  readonly max: number
}

/** Returns the pass whose slices are this work. It gets the rows of a page, which can be none, and the id of the last. */
export function rowPass(
  storage: Storage,
  { table, name = table, filter, columns, first = 64, max, after: from }: PassRows,
  work: (rows: readonly Row[], last: number) => Promise<void>,
): MaintenancePass {
  const size = createPageSize({ first, max })
  const possible = possibleRows(filter)
  let after = from
  return {
    async slice() {
      const limit = size.next()
      const rows = await storage.find(table, possible, { order: 'asc', after, limit, ...(columns && { columns }) })
      size.read(rows)
      const last = rows.at(-1)?.id ?? after
      await work(rows, last)
      after = last
      return { rows: rows.length, table: name, isLast: rows.length < limit }
    },
  }
}

/** Does work on rows, then on those that it has lost, as they are now, until it has lost none. `work` returns the ids of what it has lost. */
export async function untilPatched(
  storage: Storage,
  { table, rows }: { readonly table: string; readonly rows: readonly Row[] },
  work: (rows: readonly Row[]) => Promise<readonly number[]>,
): Promise<void> {
  for (let pending = rows; pending.length > 0; ) {
    const lost = await work(pending)
    pending = lost.length === 0 ? [] : present(await storage.get(table, lost))
  }
}

/** Returns the ids of the patches that were not applied, because others changed their rows. */
export function lostOf(patches: readonly Patch[], arePatched: readonly boolean[]): number[] {
  return patches.flatMap(({ id }, index) => (arePatched[index] === true ? [] : [id]))
}
