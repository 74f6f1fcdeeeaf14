/** Reads the audit trail: chain by chain to verify and export it, by time to list events. */

import { decodeHead } from '../audit/chain-head.ts'
import type { TreeHead } from '../audit/chain-verifier.ts'
import { treeHeadOf } from '../audit/chain-verifier.ts'
import { eachPage } from '../maintenance/each-page.ts'
import type { Hash } from '../ports/hash.ts'
import type { Scheduler } from '../ports/scheduler.ts'
import type { Filter, Storage } from '../ports/storage.ts'
import { AUDIT_CHAINS, AUDIT_EVENTS } from '../schema/system-tables.ts'
import type { AuditEntryKind } from '../sealing/audit-entry.ts'
import type { EventStore, OpenedEntry } from './event-store.ts'
import { toBigint, unreadableHead } from './event-store.ts'

/** What reading uses. */
export interface AuditReader {
  readonly storage: Storage
  readonly events: EventStore
  readonly scheduler: Scheduler
}

/** Every event, chain by chain and in each by its sequence number. */
export function eachEvent(reader: AuditReader): AsyncGenerator<readonly OpenedEntry[]> {
  return eachEntry(reader, AUDIT_EVENTS.name, 'event')
}

/** The head of every chain, by chain. */
export function eachHead(reader: AuditReader): AsyncGenerator<readonly OpenedEntry[]> {
  return eachEntry(reader, AUDIT_CHAINS.name, 'head')
}

async function* eachEntry(
  { storage, events, scheduler }: AuditReader,
  table: string,
  space: AuditEntryKind,
): AsyncGenerator<readonly OpenedEntry[]> {
  for await (const rows of eachPage(storage, table, { scheduler })) yield events.open(space, rows)
}

/** The events of these rows that exist. */
export async function eventsAt({ storage, events }: AuditReader, rows: readonly number[]): Promise<OpenedEntry[]> {
  const found = await storage.get(AUDIT_EVENTS.name, rows)
  return events.open(
    'event',
    found.filter((row) => row !== undefined),
  )
}

/** The end of a chain; `head` is undefined where its head fails authentication. */
export interface ReadHead {
  readonly chain: number
  readonly head: TreeHead | undefined
}

/** The end of every chain, by chain. */
export async function readHeads(reader: AuditReader & { readonly hash: Hash }): Promise<ReadHead[]> {
  const allHeads: ReadHead[] = []
  for await (const heads of eachHead(reader)) {
    for (const { id, bytes } of heads) {
      const head = bytes === undefined ? undefined : decodeHead(bytes)
      allHeads.push({ chain: id, head: head?.chain === id ? treeHeadOf(reader.hash, head) : undefined })
    }
  }
  return allHeads
}

/** The ends that could be read. */
export function readable(allHeads: readonly ReadHead[]): TreeHead[] {
  return allHeads.flatMap(({ head }) => (head === undefined ? [] : [head]))
}

/** The same where all are needed. Throws `data_loss` where one could not be read. */
export function allReadable(allHeads: readonly ReadHead[]): TreeHead[] {
  const lost = allHeads.find(({ head }) => head === undefined)
  if (lost !== undefined) throw unreadableHead(lost.chain)
  return readable(allHeads)
}

/** Events above which a window of time is cut. */
const MAX_IN_WINDOW = 500
/** First width of a window: a second, in nanoseconds. */
const FIRST_WIDTH = 1_000_000_000n
/** The factor by which windows grow where events are sparse, and shrink where they are dense. */
const STEP_NUMBER = 8
const STEP = BigInt(STEP_NUMBER)

/** A range of time: from `since` on, and before `until`; both in nanoseconds since 1970. */
export interface TimeRange {
  readonly since: bigint | undefined
  readonly until: bigint | undefined
}

/**
 * Windows of time, the newest first, each with all its events; no event is in two windows. Storage returns rows by id, which is
 * by chain, so time is walked in windows narrow enough to be read whole.
 */
export async function* eachWindow(reader: AuditReader, { since, until }: TimeRange): AsyncGenerator<readonly OpenedEntry[]> {
  const { storage, events, scheduler } = reader
  const floor = since ?? 0n
  // The walk begins at the newest event, not at the present: a clock that was set back leaves events in the future.
  const [newest] = await storage.aggregate(AUDIT_EVENTS.name, { kind: 'all' }, [{ kind: 'max', column: 'at' }])
  const end = toBigint(newest) + 1n
  let high = until === undefined || until > end ? end : until
  let width = FIRST_WIDTH
  while (high > floor && (await isAnyBefore(storage, floor, high))) {
    const low = high - width > floor ? high - width : floor
    const count = await countBetween(storage, low, high)
    if (count > MAX_IN_WINDOW && width > 1n) {
      width = width / STEP > 0n ? width / STEP : 1n
      continue
    }
    const rows = await storage.find(AUDIT_EVENTS.name, between(low, high), { order: 'asc', limit: Math.max(count, 1) })
    yield events.open('event', rows)
    await scheduler.yield()
    if (count < MAX_IN_WINDOW / STEP_NUMBER) width *= STEP
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
  const [count] = await storage.aggregate(AUDIT_EVENTS.name, between(low, high), [{ kind: 'count' }])
  return Number(count)
}

async function isAnyBefore(storage: Storage, low: bigint, high: bigint): Promise<boolean> {
  return (await storage.find(AUDIT_EVENTS.name, between(low, high), { order: 'asc', limit: 1 })).length > 0
}
