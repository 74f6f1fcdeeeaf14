/** Reads the audit trail: chain by chain to verify and export it, by time to list events. */
import { decodeHead } from '../audit/chain-head.ts'
import type { TreeHead } from '../audit/chain-verifier.ts'
import { treeHeadOf } from '../audit/chain-verifier.ts'
import { eachPossiblePage, findImpossibleRows } from '../maintenance/possible-rows.ts'
import type { Hash } from '../ports/hash.ts'
import type { Scheduler } from '../ports/scheduler.ts'
import type { Filter, Storage } from '../ports/storage.ts'
import { AUDIT_CHAINS, AUDIT_EVENTS } from '../schema/system-tables.ts'
import type { AuditEntryKind } from '../sealing/audit-entry.ts'
import type { EventStore, OpenedEntry } from './event-store.ts'
import { toBigint, unreadableHead } from './event-store.ts'

/** The dependencies of reading the audit trail. */
export interface AuditReader {
  readonly storage: Storage
  readonly events: EventStore
  readonly scheduler: Scheduler
}

/** Yields all events in batches, by chain and sequence number. */
export function eachEvent(reader: AuditReader): AsyncGenerator<readonly OpenedEntry[]> {
  return eachEntry(reader, AUDIT_EVENTS.name, 'event')
}

/** Yields the heads of all chains in batches, by chain. */
function eachHead(reader: AuditReader): AsyncGenerator<readonly OpenedEntry[]> {
  return eachEntry(reader, AUDIT_CHAINS.name, 'head')
}

/** Yields all entries. Of those with an id that no row can have, which was changed in the database, yields at most two, unread: the first and the last. */
async function* eachEntry(
  { storage, events, scheduler }: AuditReader,
  table: string,
  kind: AuditEntryKind,
): AsyncGenerator<readonly OpenedEntry[]> {
  const { lowest, highest } = await findImpossibleRows(storage, table)
  if (lowest !== undefined) yield [{ id: lowest.id, at: 0n, bytes: undefined }]
  for await (const rows of eachPossiblePage(storage, table, { scheduler })) yield await events.open(storage, kind, rows)
  if (highest !== undefined) yield [{ id: highest.id, at: 0n, bytes: undefined }]
}

/** Returns the events of these rows, without rows that do not exist. */
export async function eventsAt({ storage, events }: AuditReader, rows: readonly number[]): Promise<OpenedEntry[]> {
  const found = await storage.get(AUDIT_EVENTS.name, rows)
  return events.open(
    storage,
    'event',
    found.filter((row) => row !== undefined),
  )
}

/** The head of a chain; `head` is undefined if it failed authentication. */
export interface ReadHead {
  readonly chain: number
  readonly head: TreeHead | undefined
}

/** Returns the heads of all chains, by chain. */
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

/** Returns the heads that are authentic. */
export function readable(allHeads: readonly ReadHead[]): TreeHead[] {
  return allHeads.flatMap(({ head }) => (head === undefined ? [] : [head]))
}

/** Returns all heads. Throws `data_loss` if one failed authentication. */
export function allReadable(allHeads: readonly ReadHead[]): TreeHead[] {
  const lost = allHeads.find(({ head }) => head === undefined)
  if (lost !== undefined) throw unreadableHead(lost.chain)
  return readable(allHeads)
}

/** Number of events that a window of time should have, and the most it has unless they share one nanosecond. */
const TARGET = 250
const MAX_IN_WINDOW = 500
/** Width of the first window, in nanoseconds. */
const FIRST_WIDTH = 1_000_000n
/** Factor by which windows grow if events are sparse. */
const STEP_NUMBER = 8
const STEP = BigInt(STEP_NUMBER)
/** Highest stored time: columns have 64 bits. A later limit limits nothing. */
const MAX_TIME = 2n ** 63n - 1n

/** A range of time in nanoseconds since 1970: from `since` (inclusive) to `until` (exclusive). Undefined means no limit. */
export interface TimeRange {
  readonly since: bigint | undefined
  readonly until: bigint | undefined
}

/**
 * Yields the events of a range of time in windows, newest window first. No event is in two windows. Storage returns rows by id, which
 * is by chain, so the range is read in windows that are narrow enough to be read whole. Each begins at the newest event that is left,
 * which the index on time gives, so that the length of the trail and gaps in it cost nothing.
 */
export async function* eachWindow(reader: AuditReader, { since = 0n, until }: TimeRange): AsyncGenerator<readonly OpenedEntry[]> {
  const { storage, events, scheduler } = reader
  let width = FIRST_WIDTH
  let newest = await newestIn(storage, since, until === undefined ? MAX_TIME : until - 1n)
  while (newest !== undefined) {
    const low = newest - width >= since ? newest - width + 1n : since
    const window = between(low, newest)
    const [counted] = await storage.aggregate(AUDIT_EVENTS.name, window, [{ kind: 'count' }])
    const count = Number(counted)
    if (count > MAX_IN_WINDOW && width > 1n) {
      width = narrower(width, count)
      continue
    }
    // Appended meanwhile with an earlier time, an event may be left out, as one appended a moment later is.
    const rows = await storage.find(AUDIT_EVENTS.name, window, { order: 'asc', limit: Math.max(count, 1) })
    yield await events.open(storage, 'event', rows)
    await scheduler.yield()
    if (count < MAX_IN_WINDOW / STEP_NUMBER) width *= STEP
    newest = low > since ? await newestIn(storage, since, low - 1n) : undefined
  }
}

/** Returns a width that has about the target, if events are spread evenly. */
function narrower(width: bigint, count: number): bigint {
  const fitting = (width * BigInt(TARGET)) / BigInt(count)
  return fitting > 0n ? fitting : 1n
}

/** Returns the time of the newest event from `low` to `high`, both included. */
async function newestIn(storage: Storage, low: bigint, high: bigint): Promise<bigint | undefined> {
  const [newest] = await storage.aggregate(AUDIT_EVENTS.name, between(low, high), [{ kind: 'max', column: 'at' }])
  return newest === null || newest === undefined ? undefined : toBigint(newest)
}

/** The events from `low` to `high`, both included. Limits beyond the stored range are left out, because no column can be compared with them. */
function between(low: bigint, high: bigint): Filter {
  return {
    kind: 'and',
    filters: [
      { kind: 'compare', column: 'at', operator: '>', value: low - 1n },
      ...(high < MAX_TIME ? [{ kind: 'compare', column: 'at', operator: '<', value: high + 1n } as const] : []),
    ],
  }
}
