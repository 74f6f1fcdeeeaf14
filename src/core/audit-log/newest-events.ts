/** Reads the events of a range of time, newest first: the chains are read backward by row id, and their events merged by time. */
import { chainOfRow, rowsOfChains } from '../audit/chain.ts'
import { createPace, createPageSize } from '../pace/pace.ts'
import type { Row } from '../ports/storage.ts'
import { toTimestamp } from '../util/time.ts'
import {
  beginWalks,
  type ChainWalk,
  type ChosenWalk,
  END_OF_TIME,
  firstWalks,
  lastRow,
  narrowWalks,
  nextWalks,
} from './chain-walk.ts'
import { type AuditReader, type DatedEvent, eventsAt, type PacedReader } from './read-trail.ts'

/** A range of time in nanoseconds since 1970: from `since` (inclusive) to `until` (exclusive). Undefined means no limit. */
export interface TimeRange {
  readonly since: bigint | undefined
  readonly until: bigint | undefined
}

/** Highest stored time: columns have 64 bits. A later limit limits nothing. */
const MAX_TIME = 2n ** 63n - 1n
/** Rows of the reads after the first, in all chains: at first four times this, and 512 at most. Long events are read fewer at a time. */
const SIZES = { first: 8, max: 512 } as const

/** What the order of events is known by. */
interface Timed {
  readonly timestamp: string
}

/** An event that was read. Its place is a timestamp: events that are not read yet can be later if their chain is not read so far. */
interface PlacedEvent<Event extends Timed> extends DatedEvent<Event> {
  readonly place: string
}

/**
 * Yields the events of a range of time in batches, newest batch first. No event is in two batches, and events of one time are in one
 * batch. Events that fail authentication are in any batch. Order is by the sealed times: in a chain they rise as the row ids do. If they
 * do not, because rows were replaced by older ones of the same chain, each event is still yielded, but it can be late.
 */
export async function* eachNewest<Event extends Timed>(
  reader: AuditReader,
  { since, until }: TimeRange,
  decode: (bytes: Uint8Array) => Event,
): AsyncGenerator<readonly DatedEvent<Event>[]> {
  const paced: PacedReader<Event> = { ...reader, pace: createPace(reader), decode }
  const range = { since: textOf(since ?? 0n), until: until === undefined ? END_OF_TIME : textOf(until) }
  if (range.since >= range.until) return
  const size = createPageSize(SIZES)
  let walks = (await narrowWalks(paced, await beginWalks(paced), range.until)).filter((walk) => isUnread(walk, range.since))
  let waiting: readonly PlacedEvent<Event>[] = []
  for (let chosen = firstWalks(walks); chosen.length > 0; chosen = nextWalks(walks, waiting.map(placeOf), size.next())) {
    const { continued, rows, events } = await readWalks(paced, chosen)
    size.read(rows)
    const chosenWalks = new Set(chosen.map(({ walk }) => walk))
    walks = [...walks.filter((walk) => !chosenWalks.has(walk)), ...continued].filter((walk) => isUnread(walk, range.since))
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

/** True if rows are left that can be in the range. */
function isUnread({ chain, before, earlierThan }: ChainWalk, since: string): boolean {
  return earlierThan > since && before > rowsOfChains(chain).after + 1
}

function isInRange({ event }: DatedEvent<Timed>, { since, until }: TextRange): boolean {
  return event === undefined || (event.timestamp >= since && event.timestamp < until)
}

/** Reads the next rows of each walk. Returns the walks after them, the rows, and their events. */
async function readWalks<Event extends Timed>(
  reader: PacedReader<Event>,
  chosen: readonly ChosenWalk[],
): Promise<{ readonly continued: ChainWalk[]; readonly rows: readonly Row[]; readonly events: PlacedEvent<Event>[] }> {
  const { rows, events } = await eventsAt(reader, chosen.flatMap(nextIds))
  const rowsByChain = byChain(rows)
  const eventsByChain = byChain(events)
  const continued = await Promise.all(
    chosen.map((one) =>
      continueWalk(reader, one, { rows: rowsByChain.get(one.walk.chain) ?? [], events: eventsByChain.get(one.walk.chain) ?? [] }),
    ),
  )
  return { continued, rows, events: [...eventsByChain.values()].flatMap(placed) }
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
function nextIds({ walk: { chain, before }, rows }: ChosenWalk): number[] {
  const count = Math.min(rows, before - rowsOfChains(chain).after - 1)
  return Array.from({ length: count }, (_, index) => before - count + index)
}

/** Returns a walk after these rows, which are all of its next ones. */
async function continueWalk(
  reader: PacedReader,
  chosen: ChosenWalk,
  { rows, events }: { readonly rows: readonly Row[]; readonly events: readonly DatedEvent<Timed>[] },
): Promise<ChainWalk> {
  const { walk } = chosen
  const [lowest = walk.before] = nextIds(chosen)
  if (rows.length === 0) {
    const { after } = rowsOfChains(walk.chain)
    const last = await lastRow(reader, { after, before: lowest })
    return { ...walk, before: (last ?? after) + 1 }
  }
  const earliest = events.find(({ event }) => event !== undefined)?.event?.timestamp ?? walk.earlierThan
  return { ...walk, before: lowest, earlierThan: earliest < walk.earlierThan ? earliest : walk.earlierThan }
}

/** Returns events of one chain, in rising order of rows, with their places: their times, or a later one of an event before them. */
function placed<Event extends Timed>(events: readonly DatedEvent<Event>[]): PlacedEvent<Event>[] {
  let place = ''
  return events.map((dated) => {
    const { event } = dated
    if (event === undefined) return { ...dated, place: END_OF_TIME }
    if (event.timestamp > place) place = event.timestamp
    return { ...dated, place }
  })
}

function placeOf({ place }: PlacedEvent<Timed>): string {
  return place
}
