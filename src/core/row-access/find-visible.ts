/** Finds rows that are visible to a caller. Storage filters what it can, the rest is evaluated row by row, and pages are cut last. */
import type { Barrier } from '../barrier/barrier.ts'
import { digestPresent, digestValues, keyOfCell } from '../barrier/digest-values.ts'
import { decodeRecordIds } from '../barrier/record-ids.ts'
import { columnValues } from '../barrier/reveal.ts'
import { type FilterCells, toFilter } from '../expressions/condition-filter.ts'
import { inSlices } from '../pace/pace.ts'
import { byBodies, eachPage } from '../pace/pages.ts'
import type { RequiredGrant, TableAccess } from '../policy/table-access.ts'
import type { Filter, Page, Row, StorageReads } from '../ports/storage.ts'
import type { Column, Table } from '../schema/layout.ts'
import { required } from '../util/lists.ts'
import { assertNotAborted, type Signal } from '../util/signal.ts'
import { evaluateAccess, evaluateAccessInSlices, type RowWithAccess } from './evaluate-access.ts'
import type { ReadingContext } from './reading-context.ts'

/** The rows to find: those that match the filter, meet all needs and, if `holds` is given, have one of its values. */
export interface VisibleRows {
  readonly access: TableAccess
  readonly needs: readonly RequiredGrant[]
  readonly filter: Filter
  readonly page: Page
  /** Compared with the opened values, so that a digest that was moved in the database finds no wrong record. */
  readonly holds?: HeldValues
  /** Throws `cancelled` between two reads of the storage. */
  readonly signal?: Signal | undefined
}

/** A column, and the keys of the values to find in it, as `keyOfCell` returns them. */
export interface HeldValues {
  readonly column: Column
  readonly digests: ReadonlySet<string>
}

/** Returns the rows of one page. `offset` and `limit` count visible rows only, so that hidden rows have no effect. */
export async function findVisible(
  storage: StorageReads,
  { barrier, scheduler }: Pick<ReadingContext, 'barrier' | 'scheduler'>,
  wanted: VisibleRows,
): Promise<RowWithAccess[]> {
  const { access, needs, filter, page, holds, signal } = wanted
  const { physical } = access.table
  if (holds === undefined && needs.every((need) => access.alwaysMeets(need))) {
    return evaluateAccess(barrier, access, await storage.find(physical.name, filter, page))
  }
  const found: RowWithAccess[] = []
  let offset = page.offset ?? 0
  const pages = eachPage(storage, physical.name, { ...page, filter: storageFilter(barrier, wanted), scheduler })
  for await (const rows of pages) {
    assertNotAborted(signal)
    const isHeld =
      holds === undefined ? undefined : await areHeldInSlices({ barrier, scheduler }, access.table, { ...holds, rows })
    const evaluated = await evaluateAccessInSlices({ barrier, scheduler }, access, rows)
    for (const [index, one] of evaluated.entries()) {
      if (isHeld?.[index] === false || !needs.every((need) => one.access.meets(need))) continue
      if (offset > 0) offset--
      else if (found.push(one) === page.limit) return found
    }
  }
  return found
}

/** As `areHeld`, with a turn of the event loop between two slices: the first page of a walk can have long rows. */
function areHeldInSlices(
  { barrier, scheduler }: Pick<ReadingContext, 'barrier' | 'scheduler'>,
  table: Table,
  { rows, ...held }: HeldValues & { readonly rows: readonly Row[] },
): boolean[] | Promise<boolean[]> {
  return inSlices(byBodies(rows), scheduler, (start, end) => areHeld(barrier, table, { ...held, rows: rows.slice(start, end) }))
}

/** Returns whether each row has one of the values, in order. Reports a row that was found by a digest and has none of them. */
function areHeld(
  barrier: Barrier,
  table: Table,
  { column, digests, rows }: HeldValues & { readonly rows: readonly Row[] },
): boolean[] {
  const held = digestPresent(barrier.ring, column, columnValues(barrier, table, column, rows))
  return held.map((digest, index) => {
    const isHeld = digest !== undefined && digests.has(keyOfCell(digest))
    if (!isHeld) barrier.reportMismatch?.({ table, column, row: required(rows[index]).id })
    return isHeld
  })
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
