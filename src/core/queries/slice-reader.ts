/** What a scan makes of each slice of rows: rows for joins and results, or only the values that aggregates need. */
import type { ColumnRef } from '../expressions/condition.ts'
import type { SourcePlan } from '../sql/plan.ts'
import type { BufferedRow } from './buffered-row.ts'
import type { ResidualFilter } from './residual-filter.ts'
import type { ScannedRows } from './scanned-rows.ts'

/** Reads slices of rows. */
export interface SliceReader<Batch> {
  /** The physical columns that it reads; storage need not return others. */
  readonly columns: readonly string[]
  /** Returns what it makes of the visible rows among these, at most `max`. Throws `data_loss` and `LongMatch`, and nothing was made then. */
  read(rows: ScannedRows, max: number): Batch
  /** True if it reads nothing of a row but id and body. */
  readonly readsOnlyBodies: boolean
}

/** Creates a reader that returns rows with the values the plan needs later. */
export function createRowReader(
  { columns, readsOnlyBodies, each }: ResidualFilter,
  { source, projected }: SourcePlan,
): SliceReader<readonly BufferedRow[]> {
  const refs = projected.map((column): ColumnRef => ({ source: source.index, column }))
  return {
    columns,
    readsOnlyBodies,
    read(rows, max) {
      const buffered: BufferedRow[] = []
      each(rows, max, ({ id, publicId, cellOf }, grants) => {
        buffered.push({ id, publicId, grants, values: refs.map(cellOf) })
      })
      return buffered
    },
  }
}

/** The values of some columns in the visible rows of a slice. They are valid until the next slice is read. */
export interface ValueBatch {
  /** Number of rows. */
  readonly length: number
  /** A list for each column, in order; null for no value. */
  readonly lists: readonly (readonly unknown[])[]
}

interface Wanted {
  readonly ref: ColumnRef
  readonly list: unknown[]
}

/** Creates a reader that returns only the values of these columns, without an object for each row. */
export function createValueReader(
  { columns, readsOnlyBodies, each }: ResidualFilter,
  refs: readonly ColumnRef[],
): SliceReader<ValueBatch> {
  const wanted = refs.map((ref): Wanted => ({ ref, list: [] }))
  const lists = wanted.map(({ list }) => list)
  return {
    columns,
    readsOnlyBodies,
    read(rows, max) {
      for (const list of lists) list.length = 0
      const length = each(rows, max, ({ cellOf }) => {
        for (const { ref, list } of wanted) list.push(cellOf(ref))
      })
      return { length, lists }
    },
  }
}
