/** List events: returns a page of audit events that match a filter, by default the newest first. */
import { hasTimestamp } from '../audit/encode-event.ts'
import type { AuditEvent, ChainedEvent } from '../audit/event.ts'
import type { AuditAfterOptions, EventQuery, EventQueryInput } from '../audit/event-query.ts'
import { createEventTest, type RecordRow, type RecordRows } from '../audit/filter-events.ts'
import { toNanoseconds } from '../audit/instant.ts'
import { EventPager } from '../audit/page-events.ts'
import { parseEventQuery, RECORDED_EVENT_QUERY } from '../audit/parse-event-query.ts'
import type { AuditContext } from '../audit-log/audit-context.ts'
import { type DatedEvent, eventsAt } from '../audit-log/dated-events.ts'
import { eachNewest } from '../audit-log/newest-events.ts'
import { decodeChangeIds, decodeRecordIds } from '../barrier/record-ids.ts'
import { fault } from '../errors.ts'
import type { OperationContext } from '../execution/context.ts'
import type { Operation } from '../execution/operation.ts'
import { showEvents } from '../execution/show-events.ts'
import { createPace } from '../pace/pace.ts'
import { forbidden } from '../policy/create-access.ts'
import { at } from '../util/lists.ts'

/** Maximum number of events that one listing reads. */
const MAX_EVENTS = 1_000_000

/** Input of a listing. */
export interface ListEventsInput {
  readonly query: EventQueryInput
}

/** A page of events. `nextOps` continues after it. It is absent on the last page, and if the query has an offset or a sort order. */
export interface EventList {
  readonly events: readonly AuditEvent[]
  readonly nextOps?: AuditAfterOptions
}

/** Returns a page of events. Throws `forbidden` without AUDIT, `invalid_request` that names the invalid member, `limit_exceeded` if too many events must be read. */
export const listEvents: Operation<ListEventsInput, EventQuery, EventList> = {
  action: 'LIST_EVENTS',
  resourceType: 'VAULT',
  verb: 'List events',
  members: ['query'],
  recorded: { query: RECORDED_EVENT_QUERY },
  parse({ query: given }, { layout, event }) {
    const query = parseEventQuery(given)
    const named = (query.filter.resources ?? []).flatMap(({ type, id }) => (type === 'TABLE' ? [id] : []))
    event.setTables([...new Set(named)].filter((name) => layout.tables.has(name)))
    return query
  },
  async execute(context, query) {
    if (!context.access.allowsAudit) throw forbidden(context.caller, 'AUDIT')
    const { events, next } = await findPage(context, query)
    const listed = await showEvents(context, events)
    return next === undefined ? { events: listed } : { events: listed, nextOps: next }
  },
}

async function findPage(context: OperationContext, query: EventQuery): Promise<ReturnType<EventPager['page']>> {
  const pager = new EventPager(query)
  const matches = createEventTest(query.filter, recordRows(context, query))
  let seen = 0
  for await (const found of candidates(context.audit, query)) {
    seen += found.length
    if (seen > MAX_EVENTS) {
      throw fault('limit_exceeded')`The search passed ${MAX_EVENTS} events. Narrow it with filterOps.startTime and endTime.`
    }
    for (const event of readableEvents(context, found)) if (matches(event)) pager.add(event)
    if (pager.isFull) break
  }
  return pager.page()
}

/** Yields events that can match: the one with a change id, or those of a range of time, newest first. */
async function* candidates(audit: AuditContext, { filter, after }: EventQuery): AsyncGenerator<readonly DatedEvent[]> {
  const { changeID } = filter.context
  if (changeID !== undefined) {
    const [row] = decodeChangeIds(audit.barrier.ring, [changeID])
    if (row !== undefined) yield (await eventsAt({ ...audit, pace: createPace(audit) }, [row])).events
    return
  }
  // Events of the time of the last page's last event can follow it.
  const ends = [filter.to, after && toNanoseconds(after.timestamp) + 1n].filter((end) => end !== undefined)
  const until = ends.length === 0 ? undefined : ends.reduce((earliest, end) => (end < earliest ? end : earliest))
  yield* eachNewest(audit, { since: filter.from, until })
}

/** Returns the events that are authentic and stored under their own time. The others are logged, and `verifyAudit` reports them. */
function readableEvents({ log }: OperationContext, found: readonly DatedEvent[]): ChainedEvent[] {
  return found.flatMap(({ id, at, event }) => {
    if (event !== undefined && hasTimestamp(event, at)) return [event]
    log?.error(
      { row: id },
      event === undefined ? 'an audit event failed authentication' : 'the stored time of an audit event was changed',
    )
    return []
  })
}

/** Returns the row of each record id in the filter. An id does not name its table, so each table tries it. */
function recordRows({ barrier, layout }: OperationContext, { filter }: EventQuery): RecordRows {
  const ids = (filter.resources ?? []).map(({ id }) => id)
  const rows = [...layout.tables.values()].flatMap((table) =>
    decodeRecordIds(barrier.ring, table, ids).flatMap((row, index): [string, RecordRow][] =>
      row === undefined ? [] : [[at(ids, index), { table: table.name, row }]],
    ),
  )
  return new Map(rows)
}
