/** Long events are read, opened and verified in slices of bounded length, with turns of the event loop between. */
import { expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { createClock } from '../../../src/adapters/system/system.ts'
import { decodeEvent } from '../../../src/core/audit/read-event.ts'
import type { EventStore } from '../../../src/core/audit-log/event-store.ts'
import { eachNewest } from '../../../src/core/audit-log/newest-events.ts'
import { eachEvent } from '../../../src/core/audit-log/read-trail.ts'
import type { Row, Storage } from '../../../src/core/ports/storage.ts'
import { AUDIT_CHAINS, AUDIT_EVENTS } from '../../../src/core/schema/system-tables.ts'
import { DRAFT, writeChain } from '../../support/audit/sample-trails.ts'

const LONG = 200_000
const SLICE = 64 * 1024

const lengthOf = ({ body }: Row): number => (body instanceof Uint8Array ? body.length : 0)
const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)

/** A trail of one chain with contents of these lengths, which counts bytes read and opened at once, and turns of the event loop. */
async function openTrail(lengths: readonly number[]) {
  const storage = memoryStorage()
  await storage.prepare([AUDIT_EVENTS, AUDIT_CHAINS])
  const { rows } = writeChain(
    1,
    lengths.map((length) => ({ ...DRAFT, content: 'x'.repeat(length) })),
  )
  await storage.insert(
    AUDIT_EVENTS.name,
    rows.map(({ id, at, bytes }) => ({ id, at, body: bytes })),
  )
  const read: number[] = []
  const opened: number[] = []
  const between: number[] = []
  const counting: Storage = {
    ...storage,
    async find(table, filter, page) {
      const found = await storage.find(table, filter, page)
      read.push(sum(found.map(lengthOf)))
      return found
    },
  }
  const events: Pick<EventStore, 'open'> = {
    async open(_storage, _kind, some) {
      opened.push(sum(some.map(lengthOf)))
      between[between.length - 1] = (between.at(-1) ?? 0) + sum(some.map(lengthOf))
      return some.map(({ id, body }) => ({ id, at: 0n, bytes: body instanceof Uint8Array ? body : undefined }))
    },
  }
  between.push(0)
  const scheduler = { yield: async () => void between.push(0) }
  return { reader: { storage: counting, events, clock: createClock(() => 0), scheduler }, read, opened, between }
}

it('of long events one is opened at a time, and the event loop turns at least after every second', async () => {
  const { reader, opened, between } = await openTrail(Array.from({ length: 60 }, () => LONG))
  let count = 0
  for await (const entries of eachEvent(reader)) count += entries.length
  expect(count).toBe(60)
  expect(Math.max(...opened)).toBeLessThan(LONG + 2000)
  expect(Math.max(...between)).toBeLessThan(2 * LONG + 4000)
})

it('long events are read a few at a time, also after many short ones', async () => {
  const { reader, read, opened } = await openTrail([
    ...Array.from({ length: 500 }, () => 10),
    ...Array.from({ length: 140 }, () => LONG),
  ])
  let count = 0
  for await (const entries of eachEvent(reader)) count += entries.length
  expect(count).toBe(640)
  expect(Math.max(...opened)).toBeLessThan(LONG + SLICE)
  // One page can be of more: before it is read, nothing says that its rows are long.
  expect(read.filter((bytes) => bytes > 2 * LONG)).toHaveLength(1)
})

it('short events are opened many at a time', async () => {
  const { reader, opened, between } = await openTrail(Array.from({ length: 2000 }, () => 300))
  for await (const _ of eachEvent(reader));
  expect(Math.max(...opened)).toBeGreaterThan(SLICE / 2)
  expect(Math.max(...opened)).toBeLessThan(SLICE + 2000)
  expect(Math.max(...between)).toBeLessThan(4 * SLICE + SLICE + 2000)
})

it('a listing opens long events one at a time, with turns of the event loop between', async () => {
  const { reader, opened, between } = await openTrail(Array.from({ length: 60 }, () => LONG))
  for await (const _ of eachNewest(reader, { since: undefined, until: undefined }, decodeEvent));
  expect(Math.max(...opened)).toBeLessThan(LONG + 2000)
  expect(Math.max(...between)).toBeLessThan(2 * LONG + 4000)
})
