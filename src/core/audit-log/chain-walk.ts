/** Walks over the audit chains, which are read backward: where each begins, which of them are read next, and how many rows of each. */
import { type ChainHead, chainOfRow, decodeHead, fromRowId, type RowRange, rowsOfChains } from '../audit/chain.ts'
import { MAX_CHAINS } from '../limits.ts'
import { createPageSize, eachPossiblePage } from '../pace/pace.ts'
import { AUDIT_CHAINS, AUDIT_EVENTS } from '../schema/system-tables.ts'
import { append } from '../util/lists.ts'
import { toTimestamp } from '../util/time.ts'
import type { OpenedEntry } from './event-store.ts'
import { type DatedEvent, eventsAt, openInSlices, type PacedReader } from './read-trail.ts'

/** A chain that is read backward. Times are timestamps of events, which have equal length: their texts order as the times do. */
export interface ChainWalk {
  readonly chain: number
  /** Row id. Rows from here on are not read. */
  readonly before: number
  /** The rows that are left have earlier events. */
  readonly earlierThan: string
}

/** Later than any timestamp. */
export const END_OF_TIME = '~'

/** Returns the walks of all chains, lowest chain first. Events appended from now on are not in them. */
export async function beginWalks(reader: PacedReader): Promise<ChainWalk[]> {
  const heads = await storedHeads(reader)
  for (const chain of await chainsBeyond(reader, [...heads])) heads.set(chain, undefined)
  return [...heads].sort(([left], [right]) => left - right).map(([chain, head]) => walkOf(chain, head))
}

/** Begins at the head. A chain without one that can be trusted is read from the last row that it can have. */
function walkOf(chain: number, head: ChainHead | undefined): ChainWalk {
  const { after, before } = rowsOfChains(chain)
  if (head === undefined) return { chain, before, earlierThan: END_OF_TIME }
  return { chain, before: after + head.sequence + 1, earlierThan: toTimestamp(head.at + 1n) }
}

/** Returns the head of each chain that has one, lowest chain first; undefined if it fails authentication. */
async function storedHeads(reader: PacedReader): Promise<Map<number, ChainHead | undefined>> {
  const { storage, pace } = reader
  const heads = new Map<number, ChainHead | undefined>()
  for await (const rows of eachPossiblePage(storage, AUDIT_CHAINS.name, { size: createPageSize() })) {
    for await (const entries of openInSlices(reader, { kind: 'head', rows, pace })) {
      for (const entry of entries) if (entry.id <= MAX_CHAINS) heads.set(entry.id, readHead(entry))
    }
  }
  return heads
}

/** The heads of chains, rising. */
type Heads = readonly (readonly [number, ChainHead | undefined])[]

/** Heads after each of which any later row is searched. Each takes a read of its own, so with more heads a listing would take too many. */
const MAX_SEARCHED = 16

/**
 * Returns the chains with a row that no head accounts for. Either the chain has no head, because it was deleted in the database, or a row is
 * stored after its head: that is an older head, restored in the database, or the event was appended meanwhile. Any later row counts, not
 * only the next one: that one can have been deleted. With many chains, only the next row is looked at, in one read for all.
 */
async function chainsBeyond(reader: PacedReader, heads: Heads): Promise<number[]> {
  if (heads.length <= MAX_SEARCHED) {
    // Up to the next chain with a head, so that one read finds later rows and chains without a head.
    const found = await Promise.all(rangesBetween(heads, rowOfHead).map((range) => chainsIn(reader, range)))
    return found.flat()
  }
  const chains = await chainsWithNextRow(reader, heads)
  for (const range of rangesBetween(heads, ([chain]) => lastRowOf(chain))) append(chains, await chainsIn(reader, range))
  return chains
}

/** Returns the rows between each head and the next chain with a head, and those before the first. `lastOf` returns the last row to leave out. */
function rangesBetween(heads: Heads, lastOf: (head: Heads[number]) => number): RowRange[] {
  const { after, before } = rowsOfChains(1, MAX_CHAINS)
  const starts = [after, ...heads.map(lastOf)]
  const ends = [...heads.map(([chain]) => rowsOfChains(chain).after), before]
  const ranges = starts.map((start, index): RowRange => ({ after: start, before: ends[index] ?? before }))
  return ranges.filter((range) => range.before - range.after > 1)
}

/** Returns the row of the last event that a head accounts for: all of a chain that is read as a whole anyway. */
function rowOfHead([chain, head]: Heads[number]): number {
  return head === undefined ? lastRowOf(chain) : rowsOfChains(chain).after + head.sequence
}

function lastRowOf(chain: number): number {
  return rowsOfChains(chain).before - 1
}

async function chainsWithNextRow({ storage }: PacedReader, heads: Heads): Promise<number[]> {
  const next = heads.flatMap((head) => (head[1] === undefined ? [] : [rowOfHead(head) + 1]))
  const rows = await storage.get(AUDIT_EVENTS.name, next)
  return rows.flatMap((row) => (row === undefined ? [] : [chainOfRow(row.id)]))
}

/** Returns the chains that have rows in a range. */
async function chainsIn(reader: PacedReader, { after, before }: RowRange): Promise<number[]> {
  const chains: number[] = []
  for (let end = before; ; ) {
    const row = await lastRow(reader, { after, before: end })
    if (row === undefined) return chains
    const chain = chainOfRow(row)
    if (fromRowId(row) !== undefined) chains.push(chain)
    end = rowsOfChains(chain).after
  }
}

function readHead({ id, bytes }: OpenedEntry): ChainHead | undefined {
  try {
    const head = bytes === undefined ? undefined : decodeHead(bytes)
    return head?.chain === id ? head : undefined
  } catch {
    // Its format is that of a later version. Events are listed without heads, too.
    return undefined
  }
}

/** Returns the id of the last row between two ids, both excluded. */
export async function lastRow(
  { storage }: Pick<PacedReader, 'storage'>,
  { after, before }: RowRange,
): Promise<number | undefined> {
  // Without a filter: a storage may look at each row that does not match.
  const [row] = await storage.find(AUDIT_EVENTS.name, { kind: 'all' }, { order: 'desc', after: before, limit: 1, columns: [] })
  return row !== undefined && row.id > after ? row.id : undefined
}

/** Chains that are read together at most. */
const MAX_TOGETHER = 16
/** Rows of the first read: of the latest chain, and of all others together. Mostly a page of a listing is in it. */
const FIRST_ROWS = 32

/** A chain to read, and how many rows of it. */
export interface ChosenWalk {
  readonly walk: ChainWalk
  readonly rows: number
}

/**
 * Returns the first chains to read: those with the latest events. Most rows are of the latest one, because callers that come one after the
 * other, and those that share a commit, append to one chain.
 */
export function firstWalks(walks: readonly ChainWalk[]): ChosenWalk[] {
  const latest = latestOf(walks)
  const others = Math.ceil(FIRST_ROWS / latest.length)
  return latest.map((walk, index) => ({ walk, rows: index === 0 ? FIRST_ROWS : others }))
}

/**
 * Returns the next chains to read, with so many rows in all: the latest of those that can have a later event than half of the events that
 * wait. So the chain is among them for which the next event waits, and no chain that ended long ago. `places` are those of the waiting.
 */
export function nextWalks(walks: readonly ChainWalk[], places: readonly string[], rows: number): ChosenWalk[] {
  const middle = [...places].sort()[Math.floor(places.length / 2)] ?? ''
  const latest = latestOf(walks.filter(({ earlierThan }) => earlierThan > middle))
  return latest.map((walk) => ({ walk, rows: Math.ceil(rows / latest.length) }))
}

function latestOf(walks: readonly ChainWalk[]): ChainWalk[] {
  return [...walks].sort((left, right) => (left.earlierThan > right.earlierThan ? -1 : 1)).slice(0, MAX_TOGETHER)
}

/** The search in one chain. The first row that is not earlier than the time is after `after` and at most `before`. */
interface Search extends RowRange {
  readonly walk: ChainWalk
  /** Distance of the next row to look at from `before`, as long as all rows seen are too late: mostly, a time is near the newest event. */
  readonly step: number
}

const FIRST_STEP = 32
const STEP_GROWTH = 8

/** Returns the walks, each beginning with its last event before `until`: times rise in a chain as its row ids do. All chains are searched at once, with a few reads for each doubling of the longest. */
export async function narrowWalks(reader: PacedReader, walks: readonly ChainWalk[], until: string): Promise<ChainWalk[]> {
  const late = walks.filter(({ earlierThan }) => earlierThan > until)
  let searches = late.map((walk): Search => ({ walk, ...rowsOfChains(walk.chain), before: walk.before, step: FIRST_STEP }))
  while (searches.some(isOpen)) searches = await narrowAll(reader, searches, until)
  const narrowed = searches.map(({ walk, before }): ChainWalk => ({ ...walk, before, earlierThan: until }))
  return [...walks.filter((walk) => !late.includes(walk)), ...narrowed]
}

function isOpen({ after, before }: Search): boolean {
  return before - after > 1
}

/** Looks at one row of each chain that is not searched to its end. */
async function narrowAll(reader: PacedReader, searches: readonly Search[], until: string): Promise<Search[]> {
  const open = searches.filter(isOpen)
  const { events } = await eventsAt(reader, open.map(probeOf))
  const byRow = new Map(events.map((event) => [event.id, event]))
  const narrowed = searches.filter((search) => !isOpen(search))
  for (const search of open) {
    const probe = probeOf(search)
    const found = readable(byRow.get(probe)) ?? (await readableBefore(reader, { after: search.after, before: probe }))
    const isLate = found !== undefined && found.time >= until
    narrowed.push(isLate ? { ...search, before: found.row, step: search.step * STEP_GROWTH } : { ...search, after: probe })
  }
  return narrowed
}

/** The row to look at: in the middle, or near the end until an early one is found. */
function probeOf({ after, before, step }: Search): number {
  return Math.max(Math.floor((after + before) / 2), before - step)
}

/** A row, and the time of its event. */
interface TimedRow {
  readonly row: number
  readonly time: string
}

/** Returns the last row of a range that has a readable event. Rows may be missing, and some may have been changed in the database. */
async function readableBefore(reader: PacedReader, { after, before }: RowRange): Promise<TimedRow | undefined> {
  for (let end = before; ; ) {
    const row = await lastRow(reader, { after, before: end })
    if (row === undefined) return undefined
    const [event] = (await eventsAt(reader, [row])).events
    const found = readable(event)
    if (found !== undefined) return found
    end = row
  }
}

function readable(found: DatedEvent<{ readonly timestamp: string }> | undefined): TimedRow | undefined {
  return found?.event === undefined ? undefined : { row: found.id, time: found.event.timestamp }
}
