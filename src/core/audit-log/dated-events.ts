/** Opens events with their own times, which are sealed with them. The time of a row is not: a writer of the database can change it. */
import { decodeEvent } from '../audit/encode-event.ts'
import type { ChainedEvent } from '../audit/event.ts'
import type { Pace } from '../pace/pace.ts'
import type { Row } from '../ports/storage.ts'
import { AUDIT_EVENTS } from '../schema/system-tables.ts'
import type { OpenedEntry } from './event-store.ts'
import { type AuditReader, openInSlices } from './read-trail.ts'

/** An event that was read. `event` is undefined if it failed authentication. */
export interface DatedEvent extends Pick<OpenedEntry, 'id' | 'at'> {
  readonly event: ChainedEvent | undefined
}

/** A reader that gives the event loop its turns. */
export interface PacedReader extends AuditReader {
  readonly pace: Pace
}

/** Returns the events of the rows with these ids, in order, without rows that do not exist. Throws `data_loss` for an event in an unknown format. */
export async function eventsAt(reader: PacedReader, ids: readonly number[]): Promise<{ rows: Row[]; events: DatedEvent[] }> {
  const rows = (await reader.storage.get(AUDIT_EVENTS.name, ids)).filter((row) => row !== undefined)
  return { rows, events: await openDated(reader, rows) }
}

/** Returns the events of these rows, in order. Throws `data_loss` for an event in an unknown format. */
export async function openDated(reader: PacedReader, rows: readonly Row[]): Promise<DatedEvent[]> {
  const events: DatedEvent[] = []
  for await (const entries of openInSlices(reader, { kind: 'event', rows, pace: reader.pace })) {
    for (const { id, at, bytes } of entries) events.push({ id, at, event: bytes === undefined ? undefined : decodeEvent(bytes) })
  }
  return events
}
