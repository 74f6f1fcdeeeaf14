/** Rows a caller may work with: storage decides what it can, the rest is decided row by row, and pages are cut after that. */
import { digestValues } from '../barrier/digest-values.ts'
import { readIds } from '../barrier/record-ids.ts'
import type { FilterCells } from '../expressions/condition-filter.ts'
import { toFilter } from '../expressions/condition-filter.ts'
import type { Need, RowAccess, TableAccess } from '../policy/table-access.ts'
import type { Filter, Page, Row } from '../ports/storage.ts'
import type { Table } from '../schema/layout.ts'
import { judgeRows } from './evaluate-access.ts'
import type { StoreContext } from '../records/writing-context.ts'

/** Rows read at a time while they are judged. */
const SLICE = 500

/** What finding takes. */
type VisibleContext = Pick<StoreContext, 'unit' | 'barrier'>

/** A row, and what the caller may do with it. */
export interface VisibleRow {
  readonly row: Row
  readonly access: RowAccess
}

/** Which rows: all of these needs are met in them, the filter finds them, and `keeps`, where given, is true of them. */
export interface Wanted {
  readonly needs: readonly Need[]
  readonly filter: Filter
  readonly page: Page
  /** Decides a slice of rows at once, in order. */
  keeps?(rows: readonly Row[]): readonly boolean[]
}

/** The rows of one page, skipped and counted after every decision. */
export async function findVisible(context: VisibleContext, access: TableAccess, wanted: Wanted): Promise<VisibleRow[]> {
  const { needs, filter, page, keeps } = wanted
  const { physical } = access.table
  if (keeps === undefined && needs.every((need) => access.alwaysMeets(need))) {
    return judged(context, access, await context.unit.storage.find(physical.name, filter, page))
  }
  const asked = narrowed(context, access, { needs, filter })
  const found: VisibleRow[] = []
  let skip = page.skip ?? 0
  let after = page.after
  while (found.length < page.limit) {
    const slice: Page = { order: page.order, limit: SLICE, ...(after === undefined ? {} : { after }) }
    const rows = await context.unit.storage.find(physical.name, asked, slice)
    const kept = keeps?.(rows)
    for (const [index, one] of judged(context, access, rows).entries()) {
      if (kept?.[index] === false || !needs.every((need) => one.access.meets(need))) continue
      if (skip > 0) skip--
      else if (found.length < page.limit) found.push(one)
    }
    if (rows.length < SLICE) break
    after = rows.at(-1)?.id
  }
  return found
}

function judged(context: VisibleContext, access: TableAccess, rows: readonly Row[]): VisibleRow[] {
  const grants = judgeRows(context, access, rows)
  return rows.flatMap((row, index) => (grants[index] === undefined ? [] : [{ row, access: grants[index] }]))
}

/** The filter, and whatever the engine can decide of the needs. */
export function narrowed(
  context: VisibleContext,
  access: TableAccess,
  { needs, filter }: { readonly needs: readonly Need[]; readonly filter: Filter },
): Filter {
  const cells = filterCells(context, access.table)
  const filters = needs
    .filter((need) => !access.alwaysMeets(need))
    .map((need) => toFilter(access.necessary(need), cells).filter)
    .filter(({ kind }) => kind !== 'every')
  return filters.length === 0 ? filter : { kind: 'and', filters: filter.kind === 'every' ? filters : [filter, ...filters] }
}

/** What a condition's constants are found under in storage. */
export function filterCells({ barrier }: Pick<StoreContext, 'barrier'>, table: Table): FilterCells {
  return {
    digestOf: (column, value) => digestValues(barrier.ring, column, [value])[0],
    rowOf: (id) => readIds(barrier.ring, table, [id])[0],
  }
}
