/** Reads the audit trail in slices that hold the event loop for a few milliseconds. */
import { decodeHead } from '../audit/chain.ts'
import { type TreeHead, treeHeadOf } from '../audit/chain-verifier.ts'
import type { ChainedEvent } from '../audit/event.ts'
import {
  bytesOfRows,
  createPace,
  createPageSize,
  eachPossiblePage,
  endOfSlice,
  findImpossibleRows,
  type Pace,
} from '../pace/pace.ts'
import type { Hash } from '../ports/crypto.ts'
import type { Row, Storage } from '../ports/storage.ts'
import type { Clock, Scheduler } from '../ports/time.ts'
import { AUDIT_CHAINS, AUDIT_EVENTS } from '../schema/system-tables.ts'
import type { AuditEntryKind } from '../sealing/envelope.ts'
import { type EventStore, type OpenedEntry, unreadableHead } from './event-store.ts'

/** The dependencies of reading the audit trail. */
export interface AuditReader {
  readonly storage: Storage
  readonly events: Pick<EventStore, 'open'>
  readonly clock: Clock
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
async function* eachEntry(reader: AuditReader, table: string, kind: AuditEntryKind): AsyncGenerator<readonly OpenedEntry[]> {
  const { storage } = reader
  const pace = createPace(reader)
  const { lowest, highest } = await findImpossibleRows(storage, table)
  if (lowest !== undefined) yield [{ id: lowest.id, at: 0n, bytes: undefined }]
  for await (const rows of eachPossiblePage(storage, table, { size: createPageSize() })) {
    yield* openInSlices(reader, { kind, rows, pace })
  }
  if (highest !== undefined) yield [{ id: highest.id, at: 0n, bytes: undefined }]
}

/** Entries of a slice at most, and their bytes unless one entry has more: what is done with a slice holds the event loop. */
const SLICE = { size: 256, maxBytes: 64 * 1024 } as const

/** Rows to open, and who gives the event loop its turns. */
interface RowsToOpen {
  readonly kind: AuditEntryKind
  readonly rows: readonly Row[]
  readonly pace: Pace
}

/** Yields the entries of rows, in order, in slices. */
export async function* openInSlices(
  { storage, events }: AuditReader,
  { kind, rows, pace }: RowsToOpen,
): AsyncGenerator<readonly OpenedEntry[]> {
  for (let start = 0; start < rows.length; ) {
    const end = endOfSlice(rows, start, SLICE)
    const slice = rows.slice(start, end)
    yield await events.open(storage, kind, slice)
    await pace.worked(bytesOfRows(slice))
    start = end
  }
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

/** An event and its own time, which is sealed with it: a writer of the database can change the time of its row. `event` is undefined if it failed authentication. */
export interface DatedEvent<Event = ChainedEvent> extends Pick<OpenedEntry, 'id' | 'at'> {
  readonly event: Event | undefined
}

/** A reader that gives the event loop its turns, and decodes what it needs of an event: all of it, or what is counted. */
export interface PacedReader<Event = { readonly timestamp: string }> extends AuditReader {
  readonly pace: Pace
  decode(bytes: Uint8Array): Event
}

/** Returns the events of the rows with these ids, in order, without rows that do not exist. Throws `data_loss` for an event in an unknown format. */
export async function eventsAt<Event>(
  reader: PacedReader<Event>,
  ids: readonly number[],
): Promise<{ rows: Row[]; events: DatedEvent<Event>[] }> {
  const rows = (await reader.storage.get(AUDIT_EVENTS.name, ids)).filter((row) => row !== undefined)
  const events: DatedEvent<Event>[] = []
  for await (const entries of openInSlices(reader, { kind: 'event', rows, pace: reader.pace })) {
    for (const { id, at, bytes } of entries)
      events.push({ id, at, event: bytes === undefined ? undefined : reader.decode(bytes) })
  }
  return { rows, events }
}
