/** What every search of events has in common: how many it reads, which of them are authentic, and the rows of the records it names. */
import type { EventQuery } from '../audit/event-query.ts'
import type { RecordRow, RecordRows } from '../audit/listed-events.ts'
import type { DatedEvent } from '../audit-log/read-trail.ts'
import { decodeRecordIds } from '../barrier/record-ids.ts'
import { fault } from '../errors.ts'
import { at } from '../util/lists.ts'
import { toTimestamp } from '../util/time.ts'
import type { OperationContext } from './context.ts'

/** Maximum number of events that one listing reads. */
const MAX_EVENTS = 1_000_000

/** Throws `limit_exceeded` after as many events as one listing reads. */
export function assertFewEvents(seen: number): void {
  if (seen <= MAX_EVENTS) return
  throw fault('limit_exceeded')`The search passed ${MAX_EVENTS} events. Narrow it with filterOps.startTime and endTime.`
}

/** Returns the events that are authentic and stored under their own time. The others are logged, and `verifyAudit` reports them. */
export function readableEvents<Event extends { readonly timestamp: string }>(
  { log }: OperationContext,
  found: readonly DatedEvent<Event>[],
): { readonly at: bigint; readonly event: Event }[] {
  return found.flatMap(({ id, at, event }) => {
    if (event !== undefined && event.timestamp === toTimestamp(at)) return [{ at, event }]
    log?.error(
      { row: id },
      event === undefined ? 'an audit event failed authentication' : 'the stored time of an audit event was changed',
    )
    return []
  })
}

/** Returns the row of each record id in the filter. An id does not name its table, so each table tries it. */
export function recordRows({ barrier, layout }: OperationContext, { filter }: EventQuery): RecordRows {
  const ids = (filter.resources ?? []).map(({ id }) => id)
  const rows = [...layout.tables.values()].flatMap((table) =>
    decodeRecordIds(barrier.ring, table, ids).flatMap((row, index): [string, RecordRow][] =>
      row === undefined ? [] : [[at(ids, index), { table: table.name, row }]],
    ),
  )
  return new Map(rows)
}
