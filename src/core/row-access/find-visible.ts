/** Finds rows a caller can work with: storage decides what it can, the rest is decided row by row, and pages are cut after that. */
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

/** A row, and what the caller can do with it. */
export interface VisibleRow {
  readonly row: Row
  readonly access: RowAccess
}

/** Which rows are wanted: the filter finds them, they meet all needs, and `keeps`, where given, is true of them. */
export interface VisibleRows {
  readonly access: TableAccess
  readonly needs: readonly RequiredGrant[]
  readonly filter: Filter
  readonly page: Page
  /** Decides a page of rows at once, in order. */
  keeps?(rows: readonly Row[]): readonly boolean[]
}

/** The rows of one page. Rows are skipped and counted after every decision, so hidden rows shift nothing. */
export async function findVisible(storage: StorageReads, barrier: Barrier, wanted: VisibleRows): Promise<VisibleRow[]> {
  const { access, needs, filter, page, keeps } = wanted
  const { physical } = access.table
  if (keeps === undefined && needs.every((need) => access.alwaysMeets(need))) {
    return withAccess(barrier, access, await storage.find(physical.name, filter, page))
  }
  const found: VisibleRow[] = []
  let offset = page.offset ?? 0
  const pages = eachPage(storage, physical.name, { ...page, filter: decidedByStorage(barrier, wanted) })
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

/** The filter, and what storage can decide of the needs. */
function decidedByStorage(barrier: Barrier, { access, needs, filter }: VisibleRows): Filter {
  const cells = filterCells(barrier, access.table)
  const filters = needs
    .filter((need) => !access.alwaysMeets(need))
    .map((need) => toFilter(access.pushdownCondition(need), cells).filter)
    .filter(({ kind }) => kind !== 'all')
  return filters.length === 0 ? filter : { kind: 'and', filters: filter.kind === 'all' ? filters : [filter, ...filters] }
}

/** The stored cells that the constants of a condition are compared with. */
export function filterCells(barrier: Barrier, table: Table): FilterCells {
  return {
    digestOf: (column, value) => digestValues(barrier.ring, column, [value])[0],
    rowOf: (id) => decodeRecordIds(barrier.ring, table, [id])[0],
  }
}
