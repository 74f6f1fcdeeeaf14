/** The audit trail as it stands: in the order of its chains for whoever checks or exports it, by time for whoever looks something up. */
import type { LaneMark } from '../audit/chain-check.ts'
import { markOfHead } from '../audit/chain-check.ts'
import { decodeHead } from '../audit/lane-head.ts'
import { VaultError } from '../errors.ts'
import type { Hash } from '../ports/hash.ts'
import type { Scheduler } from '../ports/scheduler.ts'
import type { Filter, Storage } from '../ports/storage.ts'
import { AUDIT_EVENTS, AUDIT_LANES } from '../schema/side-tables.ts'
import type { EventStore, OpenedEntry } from './event-store.ts'
import { toBigint } from './event-store.ts'

/** Entries read at a time. */
const SLICE = 500

/** What reading takes. */
export interface TrailReading {
  readonly storage: Storage
  readonly events: EventStore
  readonly scheduler: Scheduler
}

/** Every event, lane by lane and in each by its place; opened as far as they open. */
export function eachEvent(reading: TrailReading): AsyncGenerator<readonly OpenedEntry[]> {
  return eachSlice(reading, AUDIT_EVENTS.name, 'event')
}

/** The head of every lane, by lane. */
export function eachHead(reading: TrailReading): AsyncGenerator<readonly OpenedEntry[]> {
  return eachSlice(reading, AUDIT_LANES.name, 'head')
}

async function* eachSlice(
  { storage, events, scheduler }: TrailReading,
  table: string,
  space: 'event' | 'head',
): AsyncGenerator<readonly OpenedEntry[]> {
  for (let after = -1; ; ) {
    const rows = await storage.find(table, { kind: 'every' }, { order: 'up', after, limit: SLICE })
    const last = rows.at(-1)
    if (last === undefined) return
    yield events.open(space, rows)
    await scheduler.turn()
    after = last.id
  }
}

/** The events of these rows, those that are there. */
export async function eventsAt({ storage, events }: TrailReading, rows: readonly number[]): Promise<OpenedEntry[]> {
  const found = await storage.get(AUDIT_EVENTS.name, rows)
  return events.open(
    'event',
    found.filter((row) => row !== undefined),
  )
}

/** Where a lane has come to; `mark` is undefined where its head does not open. */
export interface ReadMark {
  readonly lane: number
  readonly mark: LaneMark | undefined
}

/** Where every lane has come to, by lane. */
export async function readMarks(reading: TrailReading & { readonly hash: Hash }): Promise<ReadMark[]> {
  const marks: ReadMark[] = []
  for await (const heads of eachHead(reading)) {
    for (const { id, bytes } of heads) {
      const head = bytes === undefined ? undefined : decodeHead(bytes)
      marks.push({ lane: id, mark: head?.lane === id ? markOfHead(reading.hash, head) : undefined })
    }
  }
  return marks
}

/** Those of them that could be read. */
export function readable(marks: readonly ReadMark[]): LaneMark[] {
  return marks.flatMap(({ mark }) => (mark === undefined ? [] : [mark]))
}

/** The same for whoever cannot go on without. Throws `internal` where a head cannot be read. */
export function allReadable(marks: readonly ReadMark[]): LaneMark[] {
  const lost = marks.find(({ mark }) => mark === undefined)
  if (lost === undefined) return readable(marks)
  throw new VaultError('data_loss', `The head of lane ${lost.lane} of the audit trail cannot be authenticated. Verify the trail.`)
}

/** Rows one window of time may hold before it is cut. */
const MOST_IN_WINDOW = 500
/** First width of a window: a second, in nanoseconds. */
const FIRST_WIDTH = 1_000_000_000n
/** Windows grow and shrink by this factor as they turn out sparse or full. */
const STEP_NUMBER = 8
const STEP = BigInt(STEP_NUMBER)

/** Which span of time: from `since` on, and before `until`; both in nanoseconds since 1970. */
export interface Span {
  readonly since: bigint | undefined
  readonly until: bigint | undefined
}

/**
 * Windows of time, the newest first, each with all its events, none of them in two windows. Storage gives rows by id, which
 * is by lane; so time is walked in windows narrow enough to be read whole.
 */
export async function* eachWindow(reading: TrailReading, { since, until }: Span): AsyncGenerator<readonly OpenedEntry[]> {
  const { storage, events, scheduler } = reading
  const floor = since ?? 0n
  // Begun at the newest event, not at the present: a clock that was set back leaves events in what is then the future.
  const [newest] = await storage.measure(AUDIT_EVENTS.name, { kind: 'every' }, [{ kind: 'max', column: 'at' }])
  const end = toBigint(newest) + 1n
  let high = until === undefined || until > end ? end : until
  let width = FIRST_WIDTH
  while (high > floor && (await isAnyBefore(storage, floor, high))) {
    const low = high - width > floor ? high - width : floor
    const count = await countBetween(storage, low, high)
    if (count > MOST_IN_WINDOW && width > 1n) {
      width = width / STEP > 0n ? width / STEP : 1n
      continue
    }
    const rows = await storage.find(AUDIT_EVENTS.name, between(low, high), { order: 'up', limit: Math.max(count, 1) })
    yield events.open('event', rows)
    await scheduler.turn()
    if (count < MOST_IN_WINDOW / STEP_NUMBER) width *= STEP
    high = low
  }
}

function between(low: bigint, high: bigint): Filter {
  return {
    kind: 'and',
    filters: [
      { kind: 'compare', column: 'at', operator: '>', value: low - 1n },
      { kind: 'compare', column: 'at', operator: '<', value: high },
    ],
  }
}

async function countBetween(storage: Storage, low: bigint, high: bigint): Promise<number> {
  const [count] = await storage.measure(AUDIT_EVENTS.name, between(low, high), [{ kind: 'count' }])
  return Number(count)
}

async function isAnyBefore(storage: Storage, low: bigint, high: bigint): Promise<boolean> {
  return (await storage.find(AUDIT_EVENTS.name, between(low, high), { order: 'up', limit: 1 })).length > 0
}
