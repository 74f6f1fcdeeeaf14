/** Finds rows that are visible to a caller, also the first one of each digest. Storage filters what it can, the rest is evaluated row by row, and pages are cut last. */
import type { Barrier } from '../barrier/barrier.ts'
import { digestPresent, digestValues, keyOfCell } from '../barrier/digest-values.ts'
import { decodeRecordIds } from '../barrier/record-ids.ts'
import { columnValues } from '../barrier/reveal.ts'
import { type FilterCells, toFilter } from '../expressions/condition-filter.ts'
import { byBodies, eachPage, inSlices } from '../pace/pace.ts'
import type { RequiredGrant, TableAccess } from '../policy/table-access.ts'
import type { KeyRing } from '../ports/crypto.ts'
import type { Filter, Page, Row, StorageReads } from '../ports/storage.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { required } from '../util/lists.ts'
import { assertNotAborted, type Signal } from '../util/signal.ts'
import { evaluateAccess, evaluateAccessInSlices, type ReadingContext, type RowWithAccess } from './evaluate-access.ts'

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
      holds &&
      (await inSlices(byBodies(rows), scheduler, (start, end) =>
        areHeld(barrier, access.table, { ...holds, rows: rows.slice(start, end) }),
      ))
    const evaluated = await evaluateAccessInSlices({ barrier, scheduler }, access, rows)
    for (const [index, one] of evaluated.entries()) {
      if (isHeld?.[index] === false || !needs.every((need) => one.access.meets(need))) continue
      if (offset > 0) offset--
      else if (found.push(one) === page.limit) return found
    }
  }
  return found
}

/** Returns whether each row has one of the values, in order. Reports a row that was found by a digest and has none of them. */
export function areHeld(
  barrier: Barrier,
  table: Table,
  { column, digests, rows }: HeldValues & { readonly rows: readonly Row[] },
): boolean[] {
  const values = columnValues(barrier, table, column, rows)
  const held = barrier.ring.lookupVersions.map((version) => digestPresent(barrier.ring, column, values, version))
  return rows.map((_, index) => {
    const isHeld = held.some(({ [index]: digest }) => digest !== undefined && digests.has(keyOfCell(digest)))
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
    digestsOf: (column, value) => allDigests(barrier.ring, column, value),
    rowOf: (id) => decodeRecordIds(barrier.ring, table, [id])[0],
  }
}

function allDigests(ring: KeyRing, column: Column, value: unknown): readonly Uint8Array[] {
  return ring.lookupVersions.flatMap((version) => digestValues(ring, column, [value], version))
}

/** The column to look up, the digests, and the grants that a row needs to be visible. */
export interface VisibleByDigest {
  readonly access: TableAccess
  readonly column: Column
  readonly needs: readonly RequiredGrant[]
  readonly digests: readonly Uint8Array[]
}

/** Returns the visible row with the lowest id for each digest, in order; undefined if there is none. The opened value is not compared here. */
export async function findVisibleByDigest(
  storage: StorageReads,
  context: Pick<ReadingContext, 'barrier' | 'scheduler'>,
  { access, column, needs, digests }: VisibleByDigest,
): Promise<(Row | undefined)[]> {
  if (column.digest === undefined || !needs.every((need) => access.possiblyMeets(need))) return digests.map(() => undefined)
  if (needs.every((need) => access.alwaysMeets(need))) {
    return findByDigest(storage, { table: access.table, column }, digests)
  }
  const rows: (Row | undefined)[] = []
  for (const digest of digests) {
    const filter = { kind: 'compare', column: column.digest, operator: '=', value: digest } as const
    const holds = { column, digests: new Set([keyOfCell(digest)]) }
    const [first] = await findVisible(storage, context, { access, needs, filter, holds, page: { order: 'asc', limit: 1 } })
    rows.push(first?.row)
  }
  return rows
}

/** Number of rows read in addition to one for each digest: a few equal values then cost no second query. */
const SPARE = 64
/** Number of digests looked up at a time after some turned out to be common. */
const FEW = 16

/** A column to look up digests in. */
export interface DigestColumn {
  readonly table: Table
  readonly column: Column
}

/** Returns the row with the lowest id for each digest, in order; undefined if no record has it. The caller must compare the opened value, because a digest can be moved in the database. */
export async function findByDigest(
  storage: StorageReads,
  { table, column }: DigestColumn,
  digests: readonly Uint8Array[],
): Promise<(Row | undefined)[]> {
  const { digest } = column
  if (digest === undefined) return digests.map(() => undefined)
  const first = new Map<string, Row>()
  const find = async (requested: readonly Uint8Array[]): Promise<boolean> => {
    const limit = requested.length + SPARE
    const filter = { kind: 'in', column: digest, values: requested } as const
    const rows = await storage.find(table.physical.name, filter, { order: 'asc', limit })
    for (const row of rows) {
      const key = keyOfCell(row[digest])
      if (!first.has(key)) first.set(key, row)
    }
    return rows.length < limit
  }
  const keys = digests.map(keyOfCell)
  const requested = unlike(digests, keys)
  // A full page can hold one common value alone: digests not seen on it are looked up again, a few at a time.
  if (requested.length > 0 && !(await find(requested))) await findRest(requested, first, find)
  return keys.map((key) => first.get(key))
}

/** Looks up the digests of a full page that were not on it, until every one was found or has no row. */
async function findRest(
  requested: readonly Uint8Array[],
  first: ReadonlyMap<string, Row>,
  find: (requested: readonly Uint8Array[]) => Promise<boolean>,
): Promise<void> {
  let pending = requested
  for (;;) {
    pending = pending.filter((digest) => !first.has(keyOfCell(digest)))
    const few = pending.slice(0, FEW)
    if (few.length === 0) return
    // The page that is not full has all rows of its digests, so those without one are done.
    if (await find(few)) pending = pending.slice(few.length)
  }
}

/** Returns the digests without repeats. `keys` has the key of each. */
function unlike(digests: readonly Uint8Array[], keys: readonly string[]): readonly Uint8Array[] {
  const seen = new Set(keys)
  return seen.size === keys.length ? digests : digests.filter((_, index) => seen.delete(required(keys[index])))
}
