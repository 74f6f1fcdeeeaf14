/** Listing the trail by time equals reading all of it and sorting: for several chains, gaps, rows changed in the database, and any range. */
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { systemScheduler } from '../../../src/adapters/system/system.ts'
import { encodeHead, rowsOfChains } from '../../../src/core/audit/chain.ts'
import { decodeEvent } from '../../../src/core/audit/read-event.ts'
import type { EventStore } from '../../../src/core/audit-log/event-store.ts'
import { eachNewest, type TimeRange } from '../../../src/core/audit-log/newest-events.ts'
import type { DatedEvent } from '../../../src/core/audit-log/read-trail.ts'
import type { Storage } from '../../../src/core/ports/storage.ts'
import { AUDIT_CHAINS, AUDIT_EVENTS } from '../../../src/core/schema/system-tables.ts'
import { at } from '../../../src/core/util/lists.ts'
import { DRAFT, START, writeChain } from '../../support/audit/sample-trails.ts'
import { type SeededRandom, seededRandom } from '../../support/random/seeded-random.ts'

const SECOND = 1_000_000_000n
const HOUR = 3600n * SECOND
const ALL: TimeRange = { since: undefined, until: undefined }

/** Rows hold what they are sealed from. One that was changed in the database holds a single byte, and does not open. */
const events: Pick<EventStore, 'open'> = {
  open: async (_storage, _kind, rows) =>
    rows.map(({ id, body }) => ({ id, at: 0n, bytes: body instanceof Uint8Array && body.length > 1 ? body : undefined })),
}

/** One event of a trail: its row, its time, and whether it can be read. */
interface Written {
  readonly id: number
  readonly time: string
  readonly isReadable: boolean
}

/** A stored trail, and its events as they are stored. */
async function openTrail() {
  const storage = memoryStorage()
  await storage.prepare([AUDIT_EVENTS, AUDIT_CHAINS])
  const written = new Map<number, Written>()
  return {
    storage,
    written,
    reader: { storage, events, clock: { now: () => START }, scheduler: systemScheduler },
    /** Writes a chain of events at these times, as long as they rise. */
    async writeChain(chain: number, times: readonly bigint[]): Promise<void> {
      let head: ReturnType<typeof writeChain>['head'] | undefined
      for (const now of times) {
        const output = writeChain(chain, [DRAFT], head === undefined ? { now } : { now, head })
        head = output.head
        const row = at(output.rows, 0)
        await storage.insert(AUDIT_EVENTS.name, [{ id: row.id, at: row.at, body: row.bytes }])
        written.set(row.id, { id: row.id, time: decodeEvent(row.bytes).timestamp, isReadable: true })
      }
      if (head !== undefined) await storage.insert(AUDIT_CHAINS.name, [{ id: chain, body: encodeHead(head) }])
    },
    async deleteRow(id: number): Promise<void> {
      await storage.delete(AUDIT_EVENTS.name, { ids: [id] })
      written.delete(id)
    },
    async damageRow(id: number): Promise<void> {
      await storage.update(AUDIT_EVENTS.name, [{ id, version: 1, set: { body: Uint8Array.of(0) } }])
      const found = written.get(id)
      if (found !== undefined) written.set(id, { ...found, isReadable: false })
    },
    async setHead(chain: number, body: Uint8Array): Promise<void> {
      await storage.update(AUDIT_CHAINS.name, [{ id: chain, version: 1, set: { body } }])
    },
    async deleteHead(chain: number): Promise<void> {
      await storage.delete(AUDIT_CHAINS.name, { ids: [chain] })
    },
  }
}

type OpenTrail = Awaited<ReturnType<typeof openTrail>>

/** The rows of the readable events of a listing, after a check that its batches go back in time. */
async function listed({ reader }: OpenTrail, range: TimeRange = ALL): Promise<number[]> {
  const rows: number[] = []
  let earliest: string | undefined
  for await (const batch of eachNewest(reader, range, decodeEvent)) {
    const readable = batch.flatMap(({ id, event }: DatedEvent) => (event === undefined ? [] : [{ id, time: event.timestamp }]))
    for (const { time } of readable) if (earliest !== undefined && time >= earliest) throw new Error('a batch has a later event')
    for (const { time } of readable) if (earliest === undefined || time < earliest) earliest = time
    rows.push(...readable.sort(byTime).map(({ id }) => id))
  }
  return rows
}

interface Timed {
  readonly id: number
  readonly time: string
}

function byTime(left: Timed, right: Timed): number {
  return left.time === right.time ? left.id - right.id : left.time > right.time ? -1 : 1
}

const text = (time: bigint): string => {
  const fraction = (time % SECOND).toString().padStart(9, '0')
  return `${new Date(Number(time / 1_000_000n)).toISOString().slice(0, 19)}.${fraction}Z`
}

/** The slow way: all events, without those out of range, sorted. */
function expected({ written }: OpenTrail, { since, until }: TimeRange = ALL): number[] {
  return [...written.values()]
    .filter(({ isReadable }) => isReadable)
    .filter(({ time }) => (since === undefined || time >= text(since)) && (until === undefined || time < text(until)))
    .sort(byTime)
    .map(({ id }) => id)
}

const row = (chain: number, sequence: number): number => rowsOfChains(chain).after + sequence

const rising = (count: number, step: bigint, start = START): bigint[] =>
  Array.from({ length: count }, (_, n) => start + BigInt(n) * step)

describe('a listing yields each event once, newest first, of', () => {
  it.each<readonly [string, Readonly<Record<number, readonly bigint[]>>]>([
    ['no chain', {}],
    ['a chain of one event', { 1: [START] }],
    ['events a nanosecond apart', { 1: rising(700, 1n) }],
    ['events seconds apart', { 1: rising(300, SECOND) }],
    ['events years apart', { 1: [START - 200_000n * HOUR, START - 10_000n * HOUR, START] }],
    ['two chains with the same times', { 1: rising(200, 1n), 2: rising(200, 1n) }],
    ['an old and a new chain', { 1: rising(300, SECOND, START - 9_000n * SECOND), 2: rising(300, SECOND) }],
    ['an idle chain and a busy one', { 1: rising(3, HOUR), 2: rising(500, SECOND) }],
    ['a chain whose clock was set back', { 1: rising(100, SECOND), 2: rising(100, SECOND, START - HOUR) }],
    ['chains with gaps in their numbers', { 3: rising(40, 7n), 900: rising(40, 11n), 65535: rising(40, 13n) }],
  ])('%s', async (_, chains) => {
    const trail = await openTrail()
    for (const [chain, times] of Object.entries(chains)) await trail.writeChain(Number(chain), times)
    expect(await listed(trail)).toEqual(expected(trail))
  })

  it('150 chains that are written in turn', async () => {
    const trail = await openTrail()
    for (let chain = 1; chain <= 150; chain++) await trail.writeChain(chain, rising(20, 150n, START + BigInt(chain)))
    expect(await listed(trail)).toEqual(expected(trail))
    const until = START + 1500n
    expect(await listed(trail, { since: START + 300n, until })).toEqual(expected(trail, { since: START + 300n, until }))
  })
})

it('the newest of many chains that ended long ago and a few that go on are listed after a few rows of some', async () => {
  const trail = await openTrail()
  for (let chain = 1; chain <= 60; chain++) await trail.writeChain(chain, rising(40, 1n, START + BigInt(chain) * HOUR))
  for (let chain = 61; chain <= 63; chain++) await trail.writeChain(chain, rising(40, 3n, START + 100n * HOUR + BigInt(chain)))
  let read = 0
  const storage: Storage = {
    ...trail.storage,
    async get(table, ids) {
      const rows = await trail.storage.get(table, ids)
      if (table === AUDIT_EVENTS.name) read += rows.filter((one) => one !== undefined).length
      return rows
    },
  }
  const newest: Timed[] = []
  for await (const batch of eachNewest({ ...trail.reader, storage }, ALL, decodeEvent)) {
    newest.push(...batch.map(({ id, event }) => ({ id, time: event?.timestamp ?? '' })))
    if (newest.length >= 25) break
  }
  const ids = newest.sort(byTime).map(({ id }) => id)
  expect(ids).toEqual(expected(trail).slice(0, ids.length))
  expect(read).toBeLessThan(100)
})

describe('a listing is complete', () => {
  async function twoChains(): Promise<OpenTrail> {
    const trail = await openTrail()
    await trail.writeChain(1, rising(150, SECOND))
    await trail.writeChain(2, rising(150, SECOND, START + 7n))
    return trail
  }
  const until = START + 90n * SECOND

  it.each<readonly [string, (trail: OpenTrail) => Promise<void>]>([
    [
      'if rows were deleted in the middle',
      async (trail) => {
        for (let n = 20; n < 140; n++) await trail.deleteRow(row(1, n))
      },
    ],
    [
      'if the oldest rows were deleted',
      async (trail) => {
        for (let n = 1; n < 100; n++) await trail.deleteRow(row(2, n))
      },
    ],
    [
      'if the newest rows were deleted, and the head was not',
      async (trail) => {
        for (let n = 60; n <= 150; n++) await trail.deleteRow(row(2, n))
      },
    ],
    [
      'if many rows were changed',
      async (trail) => {
        for (let n = 50; n < 130; n++) await trail.damageRow(row(1, n))
      },
    ],
    [
      'if the newest rows were changed',
      async (trail) => {
        for (let n = 80; n <= 150; n++) await trail.damageRow(row(2, n))
      },
    ],
    ['if a head was deleted', (trail) => trail.deleteHead(2)],
    ['if the lowest head was deleted', (trail) => trail.deleteHead(1)],
    ['if a head was changed', (trail) => trail.setHead(1, Uint8Array.of(0))],
    ['if a head is of an unknown format', (trail) => trail.setHead(1, Uint8Array.of(9, 9, 9))],
    ['if a head was replaced by an older one', (trail) => trail.setHead(2, encodeHead(writeChain(2, [DRAFT]).head))],
    [
      'if a head was replaced by an older one, and the row after it was deleted',
      async (trail) => {
        await trail.setHead(2, encodeHead(writeChain(2, [DRAFT]).head))
        await trail.deleteRow(row(2, 2))
      },
    ],
    ['if a head was replaced by that of another chain', (trail) => trail.setHead(2, encodeHead(writeChain(1, [DRAFT]).head))],
    [
      'if all heads were deleted',
      async (trail) => {
        await trail.deleteHead(1)
        await trail.deleteHead(2)
      },
    ],
    [
      'if rows were added that no event can have',
      async ({ storage }) => {
        const ids = [1, row(2, 0), row(1, 151), row(7, 3), 2 ** 48 - 1]
        await storage.insert(
          AUDIT_EVENTS.name,
          ids.map((id) => ({ id, at: START, body: Uint8Array.of(0) })),
        )
      },
    ],
  ])('%s', async (_, tamper) => {
    const trail = await twoChains()
    await tamper(trail)
    expect(await listed(trail)).toEqual(expected(trail))
    expect(await listed(trail, { since: START + SECOND, until })).toEqual(expected(trail, { since: START + SECOND, until }))
  })

  it('of many chains, if heads were deleted, changed, or replaced by older ones', async () => {
    const trail = await openTrail()
    for (let chain = 2; chain <= 40; chain += 2) await trail.writeChain(chain, rising(30, 50n, START + BigInt(chain)))
    for (const chain of [2, 20, 22, 40]) await trail.deleteHead(chain)
    await trail.setHead(10, Uint8Array.of(0))
    await trail.setHead(30, encodeHead(writeChain(30, [DRAFT]).head))
    expect(await listed(trail)).toEqual(expected(trail))
    expect(await listed(trail, { since: START + 300n, until: START + 900n })).toEqual(
      expected(trail, { since: START + 300n, until: START + 900n }),
    )
  })

  it('if one row was replaced by an older one of the same chain, which alone can be late', async () => {
    const trail = await twoChains()
    const older = writeChain(
      1,
      Array.from({ length: 70 }, () => DRAFT),
      { now: START - HOUR },
    ).rows[69]
    await trail.storage.update(AUDIT_EVENTS.name, [{ id: row(1, 70), version: 1, set: { body: at([older], 0)?.bytes ?? null } }])
    const batches: Timed[][] = []
    for await (const batch of eachNewest(trail.reader, ALL, decodeEvent)) {
      batches.push(batch.flatMap(({ id, event }) => (event === undefined ? [] : [{ id, time: event.timestamp }])))
    }
    const ids = batches.flat().map(({ id }) => id)
    expect(ids.toSorted()).toEqual([...trail.written.keys()].toSorted())
    // Pages of events that are newer than those around it are as they are without it.
    const first = batches.slice(0, batches.findIndex((batch) => batch.some(({ id }) => id === row(1, 90))) + 1).flat()
    trail.written.delete(row(1, 70))
    const page = first
      .sort(byTime)
      .map(({ id }) => id)
      .filter((id) => id !== row(1, 70))
    expect(page).toEqual(expected(trail).slice(0, page.length))
  })
})

/** A trail of a few chains, or of more than are searched for later rows, with random times, some of them the same, with gaps and changed rows. */
async function randomTrail({ below }: SeededRandom): Promise<OpenTrail> {
  const trail = await openTrail()
  const chains = below(8) === 0 ? 17 + below(4) : 1 + below(6)
  const scale = 10n ** BigInt(below(12))
  let chain = 0
  for (let n = 0; n < chains; n++) {
    chain += 1 + below(2) * below(3)
    let time = START + BigInt(below(3)) * scale
    const times = Array.from({ length: below(chains > 16 ? 40 : 250) }, () => {
      time += below(4) === 0 ? BigInt(below(1000)) * scale : 1n
      return time
    })
    await trail.writeChain(chain, times)
    if (below(5) === 0) await trail.deleteHead(chain)
  }
  const kept = 1 + below(40)
  for (const id of [...trail.written.keys()]) {
    const choice = below(kept + 2)
    if (choice === 0) await trail.deleteRow(id)
    if (choice === 1) await trail.damageRow(id)
  }
  return trail
}

it('a listing of 60 random trails equals the slow way in any range, to the nanosecond', async () => {
  const random = seededRandom('newest first')
  for (let round = 0; round < 60; round++) {
    const trail = await randomTrail(random)
    const times = [...trail.written.values()].map(
      ({ time }) => BigInt(Date.parse(time)) * 1_000_000n + (BigInt(time.slice(20, 29)) % 1_000_000n),
    )
    const edge = (): bigint | undefined =>
      random.below(4) === 0 || times.length === 0
        ? undefined
        : at(times, random.below(times.length)) + BigInt(random.below(3)) - 1n
    for (const range of [ALL, ...Array.from({ length: 5 }, () => ({ since: edge(), until: edge() }))]) {
      expect(await listed(trail, range), `round ${round}`).toEqual(expected(trail, range))
    }
  }
})
