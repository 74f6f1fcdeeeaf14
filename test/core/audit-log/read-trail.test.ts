/** Reading the trail by time: windows contain each event exactly once, newest windows first, for any times. */
import { expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { systemScheduler } from '../../../src/adapters/system/system-scheduler.ts'
import type { EventStore } from '../../../src/core/audit-log/event-store.ts'
import type { TimeRange } from '../../../src/core/audit-log/read-trail.ts'
import { eachWindow } from '../../../src/core/audit-log/read-trail.ts'
import { AUDIT_EVENTS } from '../../../src/core/schema/system-tables.ts'
import { seededRandom } from '../../support/random/seeded-random.ts'

const START = 1_800_000_000_000_000_000n
const SECOND = 1_000_000_000n
const HOUR = 3600n * SECOND
const ALL: TimeRange = { since: undefined, until: undefined }

const unasked = (): never => {
  throw new Error('reading asks for nothing but to open')
}

/** Opens nothing: entries are their rows. */
const events: EventStore = {
  append: unasked,
  next: unasked,
  isStored: unasked,
  heads: unasked,
  open: async (_storage, _kind, rows) => rows.map(({ id, at }) => ({ id, at: BigInt(at as number | bigint), bytes: undefined })), // As stored below.
}

/** A trail of events at these times. The id of a row is its index plus 1. */
async function trailOf(times: readonly bigint[]) {
  const storage = memoryStorage()
  await storage.prepare([AUDIT_EVENTS])
  await storage.insert(
    AUDIT_EVENTS.name,
    times.map((at, place) => ({ id: place + 1, at, body: null })),
  )
  return { storage, events, scheduler: systemScheduler }
}

/** The rows of a walk, after a check that its windows go back in time. */
async function walked(times: readonly bigint[], span: TimeRange = ALL): Promise<number[]> {
  const rows: number[] = []
  let earliest: bigint | undefined
  for await (const window of eachWindow(await trailOf(times), span)) {
    const own = window.map(({ at }) => at)
    for (const at of own) if (earliest !== undefined && at >= earliest) throw new Error('a window reaches into one before it')
    for (const at of own) if (earliest === undefined || at < earliest) earliest = at
    rows.push(...window.map(({ id }) => id))
  }
  return rows.sort((left, right) => left - right)
}

/** The rows in a time range. */
function rowsIn(times: readonly bigint[], { since = 0n, until }: TimeRange): number[] {
  return times.flatMap((at, place) => (at >= since && (until === undefined || at < until) ? [place + 1] : []))
}

/** Times of a busy trail, of a clock set back by an hour, of a stopped clock, and of events years apart. */
const TIMES: Readonly<Record<string, readonly bigint[]>> = {
  'a nanosecond apart': Array.from({ length: 3000 }, (_, n) => START + BigInt(n)),
  'a nanosecond apart, and again an hour earlier': Array.from(
    { length: 3000 },
    (_, n) => START - (n < 1500 ? 0n : HOUR) + BigInt(n),
  ),
  'all the same': Array.from({ length: 1200 }, () => START),
  'of few instants': Array.from({ length: 2000 }, (_, n) => START + BigInt(n % 3)),
  'seconds apart': Array.from({ length: 1500 }, (_, n) => START + BigInt(n) * SECOND),
  'years apart': [START, START - 10_000n * HOUR, START - 200_000n * HOUR],
  none: [],
}

it.each(Object.entries(TIMES))('a walk returns each event once for times %s', async (_, times) => {
  expect(await walked(times)).toEqual(rowsIn(times, ALL))
})

it('a walk of 100 random trails returns exactly the events of each time range, to the nanosecond', async () => {
  const random = seededRandom('windows of time')
  const pick = (below: number): number => Math.floor(random() * below)
  for (let round = 0; round < 100; round++) {
    const scale = 10 ** pick(12)
    const times = Array.from({ length: 1 + pick(1200) }, () => START + BigInt(pick(3) * scale) + BigInt(pick(600)))
    const edge = (): bigint | undefined => (random() < 0.3 ? undefined : times[pick(times.length)])
    const span = { since: edge(), until: edge() }
    expect(await walked(times, span), `round ${round}`).toEqual(rowsIn(times, span))
  }
})
