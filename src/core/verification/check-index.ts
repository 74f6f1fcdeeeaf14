/** Compares one sealed index with the rows of its table: each row has one entry under each key of its value, and nothing else has any. */
import type { Job } from '../maintenance/job.ts'
import { eachPage, possibleRows } from '../pace/pace.ts'
import type { Row } from '../ports/storage.ts'
import { type ColumnIndex, IS_INDEXED } from '../schema/column-layout.ts'
import { HeadCache } from '../sealed-index/index-rows.ts'
import { createIndexReader, type IndexReader } from '../sealed-index/read-index.ts'
import { append } from '../util/lists.ts'
import { assertNotAborted } from '../util/signal.ts'
import type { Verifying } from './check-records.ts'
import type { RecordFindingKind } from './record-findings.ts'
import { type IndexPlace, isOwn, KeySums, type OwnKeys, openKeys } from './row-keys.ts'

/** Rows that are read at once. */
const ROWS_AT_ONCE = 512
/** Rows of an index that are looked at again, at most: each takes memory. Those beyond are not reported. */
const MAX_SUSPECTS = 10_000
/** Walks that must find other weights than the heads say, without a write meanwhile. */
const WEIGHINGS = 3

/** What is wrong with an index; without a row it is about none. */
export interface IndexFinding {
  readonly kind: RecordFindingKind
  readonly row?: number
}

/** Returns what is wrong with an index. Throws as reading it does. */
export async function checkIndex(context: Verifying, place: IndexPlace, job: Job): Promise<readonly IndexFinding[]> {
  const reader = createIndexReader({ ...context, keys: context.barrier, cache: new HeadCache() }, place.table)
  const found: IndexFinding[] = []
  const { count } = await reader.totals(place.index.objectId, [{}])
  let walked = 0
  for (let from = 0; from < Number.POSITIVE_INFINITY; ) {
    const { suspects, entries, next } = await suspectRows(context, reader, { place, from, job })
    walked += entries
    append(found, await confirmRows(context, reader, { place, suspects, job }))
    from = next
  }
  if (found.length === 0 && walked !== count && (await hasOtherWeights(reader, place, job)))
    found.push({ kind: 'unexpected_entry' })
  return found
}

/** Rows to look at. */
interface Slice {
  readonly place: IndexPlace
  /** The first of IDS_AT_ONCE row ids. */
  readonly from: number
  readonly job: Job
}

/**
 * Returns the rows of which the keys of the index do not come to the sum of their own, also those that do not exist, the number of their entries, and the first
 * row beyond. Others write meanwhile, so that they may not be wrong.
 */
async function suspectRows(
  context: Verifying,
  reader: IndexReader,
  { place, from, job }: Slice,
): Promise<{ readonly suspects: ReadonlySet<number>; readonly entries: number; readonly next: number }> {
  const { table, index } = place
  const sums = new KeySums(from)
  const suspects = new Set<number>()
  let count = 0
  const suspect = (row: number): void => void (suspects.size < MAX_SUSPECTS && suspects.add(row))
  for await (const entries of eachEntries(reader, index, (row) => sums.covers(row))) {
    for (const { row, key } of entries) sums.add(row, key)
    count += entries.length
    await worked(job, entries.length)
  }
  const walk = {
    scheduler: context.scheduler,
    order: 'asc',
    after: Math.max(0, from - 1),
    filter: possibleRows(undefined),
  } as const
  for await (const page of eachPage(context.storage, table.physical.name, walk)) {
    const rows = page.filter(({ id }) => sums.covers(id))
    const own = openKeys(context.barrier, place, rows)
    for (const row of rows) {
      if (!sums.takes(row.id, own.get(row.id) ?? []) || row[index.cell] !== IS_INDEXED) suspect(row.id)
    }
    await worked(job, rows.length)
    if (rows.length < page.length) break
  }
  for (const row of sums.left()) suspect(row)
  return { suspects, entries: count, next: sums.next }
}

/**
 * Returns what is wrong with the entries of rows. The index is walked once more, and a row counts only if it is the same before and after: its entries were so
 * all the time, because a record and its entries change in one transaction.
 */
async function confirmRows(
  context: Verifying,
  reader: IndexReader,
  { place, suspects, job }: { readonly place: IndexPlace; readonly suspects: ReadonlySet<number>; readonly job: Job },
): Promise<readonly IndexFinding[]> {
  if (suspects.size === 0) return []
  const ids = [...suspects]
  const before = new Map<number, Row['version']>()
  for await (const rows of eachRows(context, place, ids)) for (const { id, version } of rows) before.set(id, version)
  const seen = await keysOfEntries(reader, { place, suspects, job })
  const found: IndexFinding[] = []
  for await (const rows of eachRows(context, place, ids)) {
    const own = openKeys(context.barrier, place, rows)
    for (const row of rows) {
      const entries = seen.get(row.id) ?? []
      seen.delete(row.id)
      if (Object.is(row.version, before.get(row.id))) append(found, findingsOfRow(place, row, own.get(row.id) ?? [], entries))
    }
  }
  // What is left is of no row.
  return [
    ...found,
    ...[...seen.keys()].filter((row) => !before.has(row)).map((row) => ({ kind: 'unexpected_entry', row }) as const),
  ]
}

/** Returns what is wrong with the entries of a row, which has these keys. */
function findingsOfRow({ index }: IndexPlace, row: Row, keys: OwnKeys, entries: readonly Uint8Array[]): readonly IndexFinding[] {
  const right = entries.filter((key) => isOwn(keys, key)).length
  const isMissing = keys === 'unknown' ? right === 0 : right < keys.length
  return [
    ...(isMissing || row[index.cell] !== IS_INDEXED ? [{ kind: 'missing_entry', row: row.id } as const] : []),
    ...(right < entries.length ? [{ kind: 'unexpected_entry', row: row.id } as const] : []),
  ]
}

/** Returns the keys that an index has of some rows. */
async function keysOfEntries(
  reader: IndexReader,
  { place, suspects, job }: { readonly place: IndexPlace; readonly suspects: ReadonlySet<number>; readonly job: Job },
): Promise<Map<number, Uint8Array[]>> {
  const seen = new Map<number, Uint8Array[]>()
  for await (const entries of eachEntries(reader, place.index, (row) => suspects.has(row))) {
    for (const { row, key } of entries) seen.set(row, [...(seen.get(row) ?? []), key])
    await worked(job, entries.length)
  }
  return seen
}

/** True if the entries of an index have other weights than one each: values that came, or went, more than once. */
async function hasOtherWeights(reader: IndexReader, { index }: IndexPlace, job: Job): Promise<boolean> {
  for (let weighing = 0; weighing < WEIGHINGS; weighing++) {
    const before = await reader.totals(index.objectId, [{}])
    let count = 0
    for await (const entries of eachEntries(reader, index, () => true)) {
      count += entries.length
      await worked(job, entries.length)
    }
    const after = await reader.totals(index.objectId, [{}])
    if (before.count !== after.count || count === after.count) return false
  }
  return true
}

/** An entry of an index. */
interface Entry {
  readonly key: Uint8Array
  readonly row: number
}

/** Yields the entries of the rows that are asked for, some at a time. */
async function* eachEntries(
  reader: IndexReader,
  { objectId }: ColumnIndex,
  isAsked: (row: number) => boolean,
): AsyncGenerator<readonly Entry[]> {
  const walk = reader.walk(objectId, [{}], { direction: 'up' })
  for (let keys = await walk.next(ROWS_AT_ONCE); keys.length > 0; keys = await walk.next(ROWS_AT_ONCE))
    yield keys.flatMap(({ key, rows }) => rows.filter(isAsked).map((row) => ({ key, row })))
}

/** Yields the rows that exist of some, some at a time. */
async function* eachRows({ storage }: Verifying, { table }: IndexPlace, ids: readonly number[]): AsyncGenerator<readonly Row[]> {
  for (let from = 0; from < ids.length; from += ROWS_AT_ONCE) {
    const rows = await storage.get(table.physical.name, ids.slice(from, from + ROWS_AT_ONCE))
    yield rows.filter((row) => row !== undefined)
  }
}

async function worked(job: Job, rows: number): Promise<void> {
  assertNotAborted(job.signal)
  await job.advance({ rows, done: 0 })
}
