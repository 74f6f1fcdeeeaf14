/** Reads the events of a range of time, newest first: the chains are read backward by row id, and their events merged by time. */
import { chainOfRow, rowsOfChains } from '../audit/chain-position.ts'
import { createPageSize, type PageSize } from '../maintenance/page-size.ts'
import { createYielder } from '../maintenance/yielder.ts'
import type { Row } from '../ports/storage.ts'
import { toTimestamp } from '../util/timestamp.ts'
import { beginWalks, type ChainWalk, END_OF_TIME, lastRow } from './chain-walk.ts'
import { type DatedEvent, eventsAt, type PacedReader } from './dated-events.ts'
import { narrowWalks } from './narrow-walks.ts'
import type { AuditReader } from './read-trail.ts'

/** A range of time in nanoseconds since 1970: from `since` (inclusive) to `until` (exclusive). Undefined means no limit. */
export interface TimeRange {
  readonly since: bigint | undefined
  readonly until: bigint | undefined
}

/** Highest stored time: columns have 64 bits. A later limit limits nothing. */
const MAX_TIME = 2n ** 63n - 1n
/** Chains that are read together at most. */
const MAX_TOGETHER = 64
/** Rows of the first read, in all chains, and the least in one. Mostly a page of a listing is in it. */
const FIRST_ROWS = 32
const LEAST_FIRST_ROWS = 4
/** Rows that wait to be merged, in all chains, about. */
const MAX_WAITING_ROWS = 4096
const LEAST_ROWS = 16
const MOST_ROWS = 128

/** An event that was read. Its place is a timestamp: events that are not read yet can be later if their chain is not read so far. */
interface PlacedEvent extends DatedEvent {
  readonly place: string
}

/** A walk, and the size of its reads. */
interface SizedWalk extends ChainWalk {
  readonly size: PageSize
}

/**
 * Yields the events of a range of time in batches, newest batch first. No event is in two batches, and events of one time are in one
 * batch. Events that fail authentication are in any batch. Order is by the sealed times: in a chain they rise as the row ids do. If they
 * do not, because rows were replaced by older ones of the same chain, each event is still yielded, but it can be late.
 */
export async function* eachNewest(reader: AuditReader, { since, until }: TimeRange): AsyncGenerator<readonly DatedEvent[]> {
  const paced: PacedReader = { ...reader, yielder: createYielder(reader) }
  const range = { since: textOf(since ?? 0n), until: until === undefined ? END_OF_TIME : textOf(until) }
  if (range.since >= range.until) return
  let walks = await sizedWalks(paced, range.until)
  let waiting: readonly PlacedEvent[] = []
  for (;;) {
    walks = walks.filter((walk) => isUnread(walk, range.since))
    if (walks.length === 0) break
    const chosen = chooseWalks(walks, waiting)
    const { continued, events } = await readWalks(paced, chosen)
    walks = [...walks.filter((walk) => !chosen.includes(walk)), ...continued].filter((walk) => isUnread(walk, range.since))
    const read = [...waiting, ...events.filter((event) => isInRange(event, range))]
    const horizon = walks.reduce((latest, { earlierThan }) => (earlierThan > latest ? earlierThan : latest), '')
    const ready = read.filter(({ place }) => place >= horizon)
    waiting = ready.length === 0 ? read : read.filter(({ place }) => place < horizon)
    if (ready.length > 0) yield ready
  }
  if (waiting.length > 0) yield waiting
}

/** A checked range: from a timestamp (inclusive) to another (exclusive). */
interface TextRange {
  readonly since: string
  readonly until: string
}

function textOf(time: bigint): string {
  if (time > MAX_TIME) return END_OF_TIME
  return time > 0n ? toTimestamp(time) : ''
}

/** Returns the walks that begin before `until`. */
async function sizedWalks(reader: PacedReader, until: string): Promise<SizedWalk[]> {
  const walks = await narrowWalks(reader, await beginWalks(reader), until)
  const first = Math.max(LEAST_FIRST_ROWS, Math.ceil(FIRST_ROWS / walks.length))
  const max = Math.min(MOST_ROWS, Math.max(LEAST_ROWS, Math.floor(MAX_WAITING_ROWS / walks.length)))
  return walks.map((walk) => ({ ...walk, size: createPageSize({ first, max }) }))
}

/** True if rows are left that can be in the range. */
function isUnread({ chain, before, earlierThan }: ChainWalk, since: string): boolean {
  return earlierThan > since && before > rowsOfChains(chain).after + 1
}

function isInRange({ event }: DatedEvent, { since, until }: TextRange): boolean {
  return event === undefined || (event.timestamp >= since && event.timestamp < until)
}

/** Returns the walks to continue: those whose events are needed next, because none are waiting, and others with few left, latest first. */
function chooseWalks(walks: readonly SizedWalk[], waiting: readonly PlacedEvent[]): SizedWalk[] {
  const counts = new Map<number, number>()
  for (const { id } of waiting) counts.set(chainOfRow(id), (counts.get(chainOfRow(id)) ?? 0) + 1)
  return walks
    .filter(({ chain, size }) => (counts.get(chain) ?? 0) * 4 <= size.next())
    .sort((left, right) => (left.earlierThan > right.earlierThan ? -1 : 1))
    .slice(0, MAX_TOGETHER)
}

/** Reads the next rows of each walk. Returns the walks after them, and the events. */
async function readWalks(
  reader: PacedReader,
  walks: readonly SizedWalk[],
): Promise<{ readonly continued: SizedWalk[]; readonly events: PlacedEvent[] }> {
  const { rows, events } = await eventsAt(reader, walks.flatMap(nextIds))
  const rowsByChain = byChain(rows)
  const eventsByChain = byChain(events)
  const continued = await Promise.all(
    walks.map((walk) =>
      continueWalk(reader, walk, { rows: rowsByChain.get(walk.chain) ?? [], events: eventsByChain.get(walk.chain) ?? [] }),
    ),
  )
  return { continued, events: [...eventsByChain.values()].flatMap(placed) }
}

function byChain<T extends { readonly id: number }>(items: readonly T[]): Map<number, T[]> {
  const groups = new Map<number, T[]>()
  for (const item of items) {
    const chain = chainOfRow(item.id)
    const group = groups.get(chain)
    if (group === undefined) groups.set(chain, [item])
    else group.push(item)
  }
  return groups
}

/** The ids of the next rows of a walk, rising. Every row of a chain has an event, unless rows were deleted. */
function nextIds({ chain, before, size }: SizedWalk): number[] {
  const count = Math.min(size.next(), before - rowsOfChains(chain).after - 1)
  return Array.from({ length: count }, (_, index) => before - count + index)
}

/** Returns a walk after these rows, which are all of its next ones. */
async function continueWalk(
  reader: PacedReader,
  walk: SizedWalk,
  { rows, events }: { readonly rows: readonly Row[]; readonly events: readonly DatedEvent[] },
): Promise<SizedWalk> {
  const [lowest = walk.before] = nextIds(walk)
  if (rows.length === 0) {
    const { after } = rowsOfChains(walk.chain)
    const last = await lastRow(reader, { after, before: lowest })
    return { ...walk, before: (last ?? after) + 1 }
  }
  walk.size.read(rows)
  const earliest = events.find(({ event }) => event !== undefined)?.event?.timestamp ?? walk.earlierThan
  return { ...walk, before: lowest, earlierThan: earliest < walk.earlierThan ? earliest : walk.earlierThan }
}

/** Returns events of one chain, in rising order of rows, with their places: their times, or a later one of an event before them. */
function placed(events: readonly DatedEvent[]): PlacedEvent[] {
  let place = ''
  return events.map((dated) => {
    const { event } = dated
    if (event === undefined) return { ...dated, place: END_OF_TIME }
    if (event.timestamp > place) place = event.timestamp
    return { ...dated, place }
  })
}
