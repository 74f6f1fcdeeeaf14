/** Finds rows that are visible to a caller. Storage filters what it can, the rest is evaluated row by row, and pages are cut last. */
import type { Barrier } from '../barrier/barrier.ts'
import { digestValues } from '../barrier/digest-values.ts'
import { decodeRecordIds } from '../barrier/record-ids.ts'
import type { FilterCells } from '../expressions/condition-filter.ts'
import { toFilter } from '../expressions/condition-filter.ts'
import { eachPage } from '../maintenance/each-page.ts'
import type { RequiredGrant, RowAccess, TableAccess } from '../policy/table-access.ts'
import type { Filter, Page, Row, StorageReads } from '../ports/storage.ts'
import type { Table } from '../schema/layout.ts'
import { at } from '../util/at.ts'
import { evaluateAccess } from './evaluate-access.ts'

/** A row, and the caller's access to it. */
export interface VisibleRow {
  readonly row: Row
  readonly access: RowAccess
}

/** The rows to find: those that match the filter, meet all needs, and pass `keeps` if it is given. */
export interface VisibleRows {
  readonly access: TableAccess
  readonly needs: readonly RequiredGrant[]
  readonly filter: Filter
  readonly page: Page
  /** Returns whether each row of a page is kept, in order. */
  keeps?(rows: readonly Row[]): readonly boolean[]
}

/** Returns the rows of one page. `offset` and `limit` count visible rows only, so that hidden rows have no effect. */
export async function findVisible(storage: StorageReads, barrier: Barrier, wanted: VisibleRows): Promise<VisibleRow[]> {
  const { access, needs, filter, page, keeps } = wanted
  const { physical } = access.table
  if (keeps === undefined && needs.every((need) => access.alwaysMeets(need))) {
    return withAccess(barrier, access, await storage.find(physical.name, filter, page))
  }
  const found: VisibleRow[] = []
  let offset = page.offset ?? 0
  const pages = eachPage(storage, physical.name, { ...page, filter: storageFilter(barrier, wanted) })
  for await (const rows of pages) {
    const kept = keeps?.(rows)
    for (const [index, one] of withAccess(barrier, access, rows).entries()) {
      if (kept?.[index] === false || !needs.every((need) => one.access.meets(need))) continue
      if (offset > 0) offset--
      else if (found.push(one) === page.limit) return found
    }
  }
  return found
}

function withAccess(barrier: Barrier, access: TableAccess, rows: readonly Row[]): VisibleRow[] {
  const accesses = evaluateAccess(barrier, access, rows)
  return rows.map((row, index) => ({ row, access: at(accesses, index) }))
}

/** Returns the filter, extended by what storage can evaluate of the needs. */
function storageFilter(barrier: Barrier, { access, needs, filter }: VisibleRows): Filter {
  const cells = filterCells(barrier, access.table)
  const filters = needs
    .filter((need) => !access.alwaysMeets(need))
    .map((need) => toFilter(access.pushdownCondition(need), cells).filter)
    .filter(({ kind }) => kind !== 'all')
  return filters.length === 0 ? filter : { kind: 'and', filters: filter.kind === 'all' ? filters : [filter, ...filters] }
}

/** Returns functions that convert the constants of a condition to stored cells. */
export function filterCells(barrier: Barrier, table: Table): FilterCells {
  return {
    digestOf: (column, value) => digestValues(barrier.ring, column, [value])[0],
    rowOf: (id) => decodeRecordIds(barrier.ring, table, [id])[0],
  }
}
