/** Compares sealed indexes with the rows of their table: each row has one entry, under the key of its value, and nothing else has any. */
import { UNKNOWN_KEY } from '../barrier/barrier.ts'
import { openRows } from '../barrier/reveal.ts'
import { isVaultError } from '../errors.ts'
import { compareKeys, orderKey } from '../index-runs/order-key.ts'
import type { Job } from '../maintenance/job.ts'
import { eachPossiblePage, possibleRows } from '../pace/pace.ts'
import type { Row } from '../ports/storage.ts'
import { type Column, IS_INDEXED } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { HeadCache } from '../sealed-index/index-rows.ts'
import { createIndexReader, type IndexReader } from '../sealed-index/read-index.ts'
import { append } from '../util/lists.ts'
import { assertNotAborted } from '../util/signal.ts'
import { tableNow, type Verifying } from './check-records.ts'
import type { RecordFindingKind, RecordFindings } from './record-findings.ts'

/** Rows of which one walk notes that it saw them, by a bit for each: an index of a table with more ids is walked once for each so many. */
const IDS_AT_ONCE = 2 ** 23
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
  readonly index: number
  /** Physical column that says which rows it has. */
  readonly cell: string
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
  for (const { index } of tableNow(context, objectId)?.columns ?? []) {
    const place = index && placeNow(context, { objectId, index: index.objectId })
    if (place === undefined) continue
    const found = await findingsOf(context, place, job)
    // What is wrong with an index that another process has dropped meanwhile is nothing.
    if (found.length === 0 || !(await isInUse(context, place))) continue
    for (const { kind, row } of found) findings.add(place.table, { kind, column: place.column }, row)
  }
}

/** Returns an index as the schema has it now; undefined if it ended meanwhile. */
function placeNow(
  context: Verifying,
  { objectId, index }: { readonly objectId: number; readonly index: number },
): Place | undefined {
  const table = tableNow(context, objectId)
  const column = table?.columns.find((one) => one.index?.objectId === index)
  return table === undefined || column?.index === undefined ? undefined : { table, column, index, cell: column.index.cell }
}

async function isInUse(context: Verifying, { table: { objectId }, index }: Place): Promise<boolean> {
  const { catalog, storage } = context
  if (!(await catalog.isCurrent(storage, catalog.keys.generation))) await catalog.reload(storage)
  return placeNow(context, { objectId, index }) !== undefined
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
  const { storage, barrier: keys } = context
  const reader = createIndexReader({ ...context, keys, cache: new HeadCache() }, place.table)
  const { name } = place.table.physical
  const found: IndexFinding[] = []
  const { count } = await reader.totals(place.index, [{}])
  let walked = 0
  for (let from: number | undefined = 0, isFirst = true; from !== undefined; isFirst = false) {
    const { suspects, entries } = await suspectRows(context, reader, { place, from, isFirst, job })
    if (isFirst) walked = entries
    append(found, await confirmRows(context, reader, { place, suspects, job }))
    const after = from + IDS_AT_ONCE - 1
    const [next] = await storage.find(name, possibleRows(undefined), { order: 'asc', after, limit: 1, columns: [] })
    from = next && next.id - (next.id % 8)
  }
  if (found.length === 0 && walked !== count && (await hasOtherWeights(reader, place, job)))
    found.push({ kind: 'unexpected_entry' })
  return found
}

/** Some of IDS_AT_ONCE row ids, a bit for each. */
class RowSet {
  readonly #from: number
  readonly #bits = new Uint8Array(IDS_AT_ONCE / 8)

  constructor(from: number) {
    this.#from = from
  }

  covers(row: number): boolean {
    return row >= this.#from && row < this.#from + IDS_AT_ONCE
  }

  add(row: number): void {
    const place = (row - this.#from) >> 3
    if (this.covers(row)) this.#bits[place] = (this.#bits[place] ?? 0) | (1 << (row & 7))
  }

  has(row: number): boolean {
    return ((this.#bits[(row - this.#from) >> 3] ?? 0) & (1 << (row & 7))) !== 0
  }
}

/** Rows to look at. */
interface Slice {
  readonly place: Place
  /** The first of IDS_AT_ONCE row ids, by which 8 divides. */
  readonly from: number
  /** True to compare all entries with their rows, also those of rows that do not exist. */
  readonly isFirst: boolean
  readonly job: Job
}

/** Returns the rows whose entries seem wrong, and the number of entries that it walked over. Others write meanwhile, so that they may not be. */
async function suspectRows(
  context: Verifying,
  reader: IndexReader,
  { place, from, isFirst, job }: Slice,
): Promise<{ readonly suspects: ReadonlySet<number>; readonly entries: number }> {
  const { table, index, cell } = place
  const seen = new RowSet(from)
  const suspects = new Set<number>()
  let count = 0
  const suspect = (row: number): void => void (suspects.size < MAX_SUSPECTS && suspects.add(row))
  for await (const entries of eachEntries(reader, index, (row) => isFirst || seen.covers(row))) {
    if (isFirst) for (const row of await wrongRows(context, place, entries)) suspect(row)
    for (const { row } of entries) seen.add(row)
    count += entries.length
    await worked(job, entries.length)
  }
  const walk = { columns: [cell], scheduler: context.scheduler }
  for await (const rows of eachPossiblePage(context.storage, table.physical.name, walk)) {
    for (const row of rows) if (seen.covers(row.id) && !(seen.has(row.id) && row[cell] === IS_INDEXED)) suspect(row.id)
    await worked(job, rows.length)
  }
  return { suspects, entries: count }
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
      if (!Object.is(row.version, before.get(row.id))) continue
      const right = entries.filter((key) => isOwn(own.get(row.id), key))
      if (right.length === 0 || row[place.cell] !== IS_INDEXED) found.push({ kind: 'missing_entry', row: row.id })
      if (right.length < entries.length) found.push({ kind: 'unexpected_entry', row: row.id })
    }
  }
  // What is left is of no row.
  return [
    ...found,
    ...[...seen.keys()].filter((row) => !before.has(row)).map((row) => ({ kind: 'unexpected_entry', row }) as const),
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
    const before = await reader.totals(index, [{}])
    let count = 0
    for await (const entries of eachEntries(reader, index, () => true)) {
      count += entries.length
      await worked(job, entries.length)
    }
    const after = await reader.totals(index, [{}])
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
  index: number,
  isAsked: (row: number) => boolean,
): AsyncGenerator<readonly Entry[]> {
  let entries: Entry[] = []
  for await (const { key, rows } of reader.walk(index, [{}], 'up')) {
    for (const row of rows) if (isAsked(row)) entries.push({ key, row })
    if (entries.length < ROWS_AT_ONCE) continue
    yield entries
    entries = []
  }
  yield entries
}

/** Yields the rows that exist of some, some at a time. */
async function* eachRows({ storage }: Verifying, { table }: Place, ids: readonly number[]): AsyncGenerator<readonly Row[]> {
  for (let from = 0; from < ids.length; from += ROWS_AT_ONCE) {
    const rows = await storage.get(table.physical.name, ids.slice(from, from + ROWS_AT_ONCE))
    yield rows.filter((row) => row !== undefined)
  }
}

/** The key of the value of a row, or `unknown` for a row that does not open. */
type OwnKey = Uint8Array | 'unknown'

/** Returns the rows of entries that do not exist, or whose value has another key. */
async function wrongRows(context: Verifying, place: Place, entries: readonly Entry[]): Promise<readonly number[]> {
  const ids = entries.map(({ row }) => row)
  const keys = new Map<number, OwnKey>()
  for await (const rows of eachRows(context, place, [...new Set(ids)]))
    for (const [row, key] of openKeys(context, place, rows)) keys.set(row, key)
  return entries.flatMap(({ row, key }) => (isOwn(keys.get(row), key) ? [] : [row]))
}

/** True if an entry may be that of a row with this key. */
function isOwn(own: OwnKey | undefined, key: Uint8Array): boolean {
  return own === 'unknown' || (own !== undefined && compareKeys(own, key) === 0)
}

function openKeys({ barrier }: Verifying, { table, column }: Place, rows: readonly Row[]): ReadonlyMap<number, OwnKey> {
  const cursor = openRows(barrier, table, rows)
  return new Map(
    rows.map(({ id }, index): [number, OwnKey] => {
      try {
        cursor.to(index)
      } catch (error) {
        if (!isVaultError(error, 'data_loss')) throw error
        return [id, 'unknown']
      }
      return [id, orderKey(column.type, cursor.value(column))]
    }),
  )
}

async function worked(job: Job, rows: number): Promise<void> {
  assertNotAborted(job.signal)
  await job.advance({ rows, done: 0 })
}
