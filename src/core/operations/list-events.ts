/** Lists audit events: a page of those a filter asks for, the newest first unless sorted otherwise. */
import { decodeEvent } from '../audit/encode-event.ts'
import type { AuditEvent, ChainedEvent } from '../audit/event.ts'
import type { AfterEvent, EventQuery, EventQueryInput } from '../audit/event-query.ts'
import { createEventTest, type RecordRow } from '../audit/filter-events.ts'
import { toNanoseconds } from '../audit/instant.ts'
import { toAuditEvent } from '../audit/list-event.ts'
import { EventPager } from '../audit/page-events.ts'
import { parseEventQuery } from '../audit/parse-event-query.ts'
import { mintIds, readChangeIds, readIds } from '../barrier/record-ids.ts'
import { VaultError } from '../errors.ts'
import type { OpenedEntry } from '../audit-log/event-store.ts'
import { eachWindow, eventsAt } from '../audit-log/read-trail.ts'
import { forbidden } from '../policy/refuse-access.ts'
import { audited } from './audited.ts'
import type { AuditTrail, OperationContext, SessionContext } from '../execution/context.ts'

const VERB = 'List events'
/** Events one listing looks at. */
const MOST_EVENTS = 1_000_000

/** A page of events; `nextOps` is where the next one goes on, absent on the last page and where offset or sorting was asked for. */
export interface EventList {
  readonly events: readonly AuditEvent[]
  readonly nextOps?: AfterEvent
}

/** The page asked for. Throws `forbidden` without AUDIT, `invalid_request` naming the member at fault. */
export function listEvents(session: SessionContext, input: EventQueryInput): Promise<EventList> {
  const deed = { action: 'LIST_EVENTS', resourceType: 'VAULT', verb: VERB, body: () => ({}) } as const
  return audited(session, deed, async (context) => {
    if (!context.access.mayAudit) throw forbidden(context.caller, 'AUDIT')
    const query = parseEventQuery(input)
    const { events, next } = await findPage(context, query)
    const idsOf = (name: string, rows: readonly number[]): readonly string[] => {
      const table = context.layout.tables.get(name)
      return table === undefined ? [] : mintIds(context.barrier.ring, table, rows)
    }
    const listed = events.map((event) => toAuditEvent(event, idsOf))
    return next === undefined ? { events: listed } : { events: listed, nextOps: next }
  })
}

async function findPage(context: OperationContext, query: EventQuery): Promise<ReturnType<EventPager['page']>> {
  const pager = new EventPager(query)
  const isAsked = createEventTest(query.filter, (id) => rowOf(context.trail, id))
  let seen = 0
  for await (const entries of candidates(context.trail, query)) {
    seen += entries.length
    if (seen > MOST_EVENTS) throw tooMany()
    for (const event of readable(context, entries)) if (isAsked(event)) pager.add(event)
    if (pager.isFull) break
  }
  return pager.page()
}

/** Events that may be asked for: the one of an id, or a span of time from its end backwards. */
async function* candidates(trail: AuditTrail, { filter, after }: EventQuery): AsyncGenerator<readonly OpenedEntry[]> {
  const { changeID } = filter.context
  if (changeID !== undefined) {
    const [row] = readChangeIds(trail.barrier.ring, [changeID])
    if (row !== undefined) yield await eventsAt(trail, [row])
    return
  }
  const ends = [filter.to, after === undefined ? undefined : toNanoseconds(after.timestamp)].filter((end) => end !== undefined)
  const until = ends.length === 0 ? undefined : ends.reduce((least, end) => (end < least ? end : least)) + 1n
  yield* eachWindow(trail, { since: filter.from, until })
}

/** The events among entries that open; of the others the log tells, and `verifyAudit`. */
function readable({ log }: OperationContext, entries: readonly OpenedEntry[]): ChainedEvent[] {
  return entries.flatMap(({ id, bytes }) => {
    if (bytes !== undefined) return [decodeEvent(bytes)]
    log?.error({ row: id }, 'an audit event cannot be authenticated')
    return []
  })
}

/** The row behind a record's id, of whichever table. */
function rowOf({ barrier, layout }: AuditTrail, id: string): RecordRow | undefined {
  for (const table of layout.tables.values()) {
    const [row] = readIds(barrier.ring, table, [id])
    if (row !== undefined) return { table: table.name, row }
  }
  return undefined
}

function tooMany(): VaultError {
  return new VaultError(
    'limit_exceeded',
    `${VERB} failed. More than ${MOST_EVENTS} events had to be looked at. Narrow it by startTime and endTime.`,
  )
}
