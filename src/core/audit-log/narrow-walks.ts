/** Moves the beginning of walks back to a time, by binary search over the rows of each chain: times rise in a chain as its row ids do. */
import { type RowRange, rowsOfChains } from '../audit/chain-position.ts'
import { type ChainWalk, lastRow } from './chain-walk.ts'
import { type DatedEvent, eventsAt, type PacedReader } from './dated-events.ts'

/** The search in one chain. The first row that is not earlier than the time is after `after` and at most `before`. */
interface Search extends RowRange {
  readonly walk: ChainWalk
  /** Distance of the next row to look at from `before`, as long as all rows seen are too late: mostly, a time is near the newest event. */
  readonly step: number
}

const FIRST_STEP = 32
const STEP_GROWTH = 8

/** Returns the walks, each beginning with its last event before `until`. All chains are searched at once, with a few reads for each doubling of the longest. */
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

function readable(found: DatedEvent | undefined): TimedRow | undefined {
  return found?.event === undefined ? undefined : { row: found.id, time: found.event.timestamp }
}
