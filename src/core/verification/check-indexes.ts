/** Compares sealed indexes with the rows of their table: each row has one entry under each key of its value, and nothing else has any. */
import { UNKNOWN_KEY } from '../barrier/barrier.ts'
import { openRows } from '../barrier/reveal.ts'
import { isVaultError } from '../errors.ts'
import { compareKeys } from '../index-runs/order-key.ts'
import { indexKeys, splitKeys } from '../index-runs/trigrams.ts'
import type { Job } from '../maintenance/job.ts'
import { eachPage, possibleRows } from '../pace/pace.ts'
import type { Row } from '../ports/storage.ts'
import { type Column, type ColumnIndex, IS_INDEXED } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { HeadCache } from '../sealed-index/index-rows.ts'
import { createIndexReader, type IndexReader } from '../sealed-index/read-index.ts'
import { append, present } from '../util/lists.ts'
import { assertNotAborted } from '../util/signal.ts'
import { tableNow, type Verifying } from './check-records.ts'
import type { RecordFindingKind, RecordFindings } from './record-findings.ts'

/** Rows whose keys one walk sums, four bytes for each: an index of a table with more ids is walked once for each so many. */
const IDS_AT_ONCE = 2 ** 21
/** Rows that are read at once. */
const ROWS_AT_ONCE = 512
/** Rows of an index that are looked at again, at most: each takes memory. Those beyond are not reported. */
const MAX_SUSPECTS = 10_000
/** Walks that must find other weights than the heads say, without a write meanwhile. */
const WEIGHINGS = 3

/** An index of a table, with the schema as it is now. */
interface Place {
  readonly table: Table
  readonly column: Column
  readonly index: ColumnIndex
}

/** What is wrong with an index; without a row it is about none. */
interface IndexFinding {
  readonly kind: RecordFindingKind
  readonly row?: number
}

/** Checks the indexes of a table that are in use. One that is being filled is not. */
export async function checkIndexes(
  context: Verifying,
  objectId: number,
  { findings, job }: { readonly findings: RecordFindings; readonly job: Job },
): Promise<void> {
  const table = tableNow(context, objectId)
  for (const { index } of table === undefined ? [] : placesIn(table)) {
    const place = placeNow(context, { objectId, index: index.objectId })
    if (place === undefined) continue
    const found = await findingsOf(context, place, job)
    // What is wrong with an index that another process has dropped meanwhile is nothing.
    if (found.length === 0 || !(await isInUse(context, place))) continue
    for (const { kind, row } of found) findings.add(place.table, { kind, column: place.column }, row)
  }
}

function placesIn(table: Table): readonly Place[] {
  return table.columns.flatMap((column) => present([column.index, column.contains]).map((index) => ({ table, column, index })))
}

/** Returns an index as the schema has it now; undefined if it ended meanwhile. */
function placeNow(
  context: Verifying,
  { objectId, index }: { readonly objectId: number; readonly index: number },
): Place | undefined {
  const table = tableNow(context, objectId)
  return table && placesIn(table).find((place) => place.index.objectId === index)
}

async function isInUse(context: Verifying, { table: { objectId }, index }: Place): Promise<boolean> {
  const { catalog, storage } = context
  if (!(await catalog.isCurrent(storage, catalog.keys.generation))) await catalog.reload(storage)
  return placeNow(context, { objectId, index: index.objectId }) !== undefined
}

async function findingsOf(context: Verifying, place: Place, job: Job): Promise<readonly IndexFinding[]> {
  try {
    return await checkIndex(context, place, job)
  } catch (error) {
    if (isVaultError(error, 'data_loss')) return [{ kind: 'unreadable_index' }]
    if (error !== UNKNOWN_KEY) throw error
  }
  // Its key may have been made meanwhile. If it is unknown then too, what names it was changed.
  await context.catalog.reload(context.storage)
  const { entropy, vault, ring, subjectKeys } = context.barrier
  return findingsOf({ ...context, barrier: { entropy, vault, ring, subjectKeys } }, place, job)
}

async function checkIndex(context: Verifying, place: Place, job: Job): Promise<readonly IndexFinding[]> {
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

/** Sums of the keys of IDS_AT_ONCE rows. */
class KeySums {
  readonly #from: number
  readonly #sums = new Uint32Array(IDS_AT_ONCE)
  /** The first row beyond that was asked for. */
  next = Number.POSITIVE_INFINITY

  constructor(from: number) {
    this.#from = from
  }

  /** True if the row is one of these, and not beyond. */
  covers(row: number): boolean {
    if (row >= this.#from + IDS_AT_ONCE) this.next = Math.min(this.next, row)
    return row >= this.#from && row < this.#from + IDS_AT_ONCE
  }

  add(row: number, key: Uint8Array): void {
    this.#sums[row - this.#from] = (this.#sums[row - this.#from] ?? 0) + hashOf(key)
  }

  /** Returns whether the sum of a row is that of its keys, and is left without it. Of a row that does not open, only whether it has some. */
  takes(row: number, keys: OwnKeys): boolean {
    const sum = this.#sums[row - this.#from]
    this.#sums[row - this.#from] = 0
    return keys === 'unknown' ? sum !== 0 : sum === keys.reduce((all, key) => (all + hashOf(key)) >>> 0, 0)
  }

  /** Yields the rows whose sum was not taken. */
  *left(): Generator<number> {
    for (const [position, sum] of this.#sums.entries()) if (sum !== 0) yield this.#from + position
  }
}

/** Rows to look at. */
interface Slice {
  readonly place: Place
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
    const own = openKeys(context, place, rows)
    for (const row of rows) {
      if (!sums.takes(row.id, own.get(row.id) ?? []) || row[index.cell] !== IS_INDEXED) suspect(row.id)
    }
    await worked(job, rows.length)
    if (rows.length < page.length) break
  }
  for (const row of sums.left()) suspect(row)
  return { suspects, entries: count, next: sums.next }
}

/** Mixes the bytes of a key to a number that is not 0: sums of keys that are equal by chance are one in 2^32. */
function hashOf(key: Uint8Array): number {
  let mixed = 0x811c_9dc5
  for (const byte of key) mixed = Math.imul(mixed ^ byte, 0x0100_0193)
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85eb_ca6b)
  return (mixed ^ (mixed >>> 13)) >>> 0 || 1
}

/**
 * Returns what is wrong with the entries of rows. The index is walked once more, and a row counts only if it is the same before and after: its entries were so
 * all the time, because a record and its entries change in one transaction.
 */
async function confirmRows(
  context: Verifying,
  reader: IndexReader,
  { place, suspects, job }: { readonly place: Place; readonly suspects: ReadonlySet<number>; readonly job: Job },
): Promise<readonly IndexFinding[]> {
  if (suspects.size === 0) return []
  const ids = [...suspects]
  const before = new Map<number, Row['version']>()
  for await (const rows of eachRows(context, place, ids)) for (const { id, version } of rows) before.set(id, version)
  const seen = await keysOfEntries(reader, { place, suspects, job })
  const found: IndexFinding[] = []
  for await (const rows of eachRows(context, place, ids)) {
    const own = openKeys(context, place, rows)
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
function findingsOfRow({ index }: Place, row: Row, keys: OwnKeys, entries: readonly Uint8Array[]): readonly IndexFinding[] {
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
  { place, suspects, job }: { readonly place: Place; readonly suspects: ReadonlySet<number>; readonly job: Job },
): Promise<Map<number, Uint8Array[]>> {
  const seen = new Map<number, Uint8Array[]>()
  for await (const entries of eachEntries(reader, place.index, (row) => suspects.has(row))) {
    for (const { row, key } of entries) seen.set(row, [...(seen.get(row) ?? []), key])
    await worked(job, entries.length)
  }
  return seen
}

/** True if the entries of an index have other weights than one each: values that came, or went, more than once. */
async function hasOtherWeights(reader: IndexReader, { index }: Place, job: Job): Promise<boolean> {
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
async function* eachRows({ storage }: Verifying, { table }: Place, ids: readonly number[]): AsyncGenerator<readonly Row[]> {
  for (let from = 0; from < ids.length; from += ROWS_AT_ONCE) {
    const rows = await storage.get(table.physical.name, ids.slice(from, from + ROWS_AT_ONCE))
    yield rows.filter((row) => row !== undefined)
  }
}

/** The keys of the value of a row, or `unknown` for a row that does not open. */
type OwnKeys = readonly Uint8Array[] | 'unknown'

/** True if an entry may be that of a row with these keys. */
function isOwn(own: OwnKeys, key: Uint8Array): boolean {
  return own === 'unknown' || own.some((one) => compareKeys(one, key) === 0)
}

function openKeys({ barrier }: Verifying, { table, column, index }: Place, rows: readonly Row[]): ReadonlyMap<number, OwnKeys> {
  const cursor = openRows(barrier, table, rows)
  return new Map(
    rows.map(({ id }, position): [number, OwnKeys] => {
      try {
        cursor.to(position)
      } catch (error) {
        if (!isVaultError(error, 'data_loss')) throw error
        return [id, 'unknown']
      }
      return [id, splitKeys(index.kind, indexKeys(index.kind, column.type, cursor.value(column)))]
    }),
  )
}

async function worked(job: Job, rows: number): Promise<void> {
  assertNotAborted(job.signal)
  await job.advance({ rows, done: 0 })
}
