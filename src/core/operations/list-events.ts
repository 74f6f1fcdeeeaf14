/** List events: returns a page of audit events that match a filter, by default the newest first. Ids of a page are made together. */
import { type AuditEvent, type EventRows, fromRuns } from '../audit/event.ts'
import {
  type AuditAfterOptions,
  type EventQuery,
  type EventQueryInput,
  parseEventQuery,
  RECORDED_EVENT_QUERY,
} from '../audit/event-query.ts'
import { type CutEvent, createEventTest, cutEvent, type IdsByRows, rowsOfEvent, toAuditEvent } from '../audit/listed-events.ts'
import { EventPager } from '../audit/page-events.ts'
import { decodeEvent } from '../audit/read-event.ts'
import type { AuditTrail } from '../audit-log/audit-trail.ts'
import { eachNewest } from '../audit-log/newest-events.ts'
import { type DatedEvent, eventsAt } from '../audit-log/read-trail.ts'
import { decodeChangeIds, encodeRecordIds } from '../barrier/record-ids.ts'
import { credentialNames } from '../credentials/credential-store.ts'
import type { OperationContext } from '../execution/context.ts'
import { assertAuditor } from '../execution/grants.ts'
import type { Operation } from '../execution/operation.ts'
import { assertFewEvents, readableEvents, recordRows } from '../execution/read-events.ts'
import { createPace, type Pace } from '../pace/pace.ts'
import { at } from '../util/lists.ts'
import { toNanoseconds } from '../util/time.ts'

/** Input of a listing. */
export interface ListEventsInput {
  readonly query: EventQueryInput
}

/** A page of events. `nextOps` continues after it. It is absent on the last page, and if the query has an offset or a sort order. */
export interface EventList {
  readonly events: readonly AuditEvent[]
  readonly nextOps?: AuditAfterOptions
  /** Names of stored credentials by the `keyID` of events. Absent if no event has one. */
  readonly actors?: Readonly<Record<string, string>>
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
    assertAuditor(context)
    const { events, next } = await findPage(context, query)
    const { resources: most } = query
    const cut = events.map((event) => (most === undefined ? { event } : cutEvent(event, most)))
    const keyIds = [...new Set(events.flatMap(({ context: { keyID } }) => keyID ?? []))]
    const actors = keyIds.length === 0 ? undefined : await credentialNames(context.unit.storage, context.barrier, keyIds)
    return {
      events: await showEvents(context, cut),
      ...(next === undefined ? {} : { nextOps: next }),
      ...(actors === undefined ? {} : { actors }),
    }
  },
}

async function findPage(context: OperationContext, query: EventQuery): Promise<ReturnType<EventPager['page']>> {
  const pager = new EventPager(query)
  const matches = createEventTest(query.filter, recordRows(context, query))
  let seen = 0
  for await (const found of candidates(context.audit, query)) {
    seen += found.length
    assertFewEvents(seen)
    for (const { event } of readableEvents(context, found)) if (matches(event)) pager.add(event)
    if (pager.isFull) break
  }
  return pager.page()
}

/** Yields events that can match: the one with a change id, or those of a range of time, newest first. */
async function* candidates(audit: AuditTrail, { filter, after }: EventQuery): AsyncGenerator<readonly DatedEvent[]> {
  const { changeID } = filter.context
  if (changeID !== undefined) {
    const [row] = decodeChangeIds(audit.barrier.ring, [changeID])
    if (row !== undefined) yield (await eventsAt({ ...audit, pace: createPace(audit), decode: decodeEvent }, [row])).events
    return
  }
  // Events of the time of the last page's last event can follow it.
  const ends = [filter.to, after && toNanoseconds(after.timestamp) + 1n].filter((end) => end !== undefined)
  const until = ends.length === 0 ? undefined : ends.reduce((earliest, end) => (end < earliest ? end : earliest))
  yield* eachNewest(audit, { since: filter.from, until }, decodeEvent)
}

/** Ids that are made together at most, and the bytes of one: a page can have a hundred events of a thousand records. */
const IDS_AT_ONCE = 4096
const ID_BYTES = 36

/** What showing events takes. */
export type ShowingContext = Pick<OperationContext, 'audit' | 'barrier' | 'layout'>

/** Returns the events as listings return them, in order. As many are shown at once as have so many ids: each of their results is an object. */
export async function showEvents(context: ShowingContext, events: readonly CutEvent[]): Promise<AuditEvent[]> {
  const pace = createPace(context.audit)
  const shown: AuditEvent[] = []
  for (let start = 0; start < events.length; ) {
    const groups: EventRows[] = []
    let end = start
    for (let rows = 0; end < events.length && rows < IDS_AT_ONCE; end++) {
      for (const group of rowsOfEvent(at(events, end).event)) {
        groups.push(group)
        rows += countOf(group)
      }
    }
    const ids = await idsOfRows(context, groups, pace)
    for (; start < end; start++) shown.push(toAuditEvent(at(events, start), ids))
    await pace.worked()
  }
  return shown
}

function countOf({ runs }: EventRows): number {
  return runs.reduce((sum, [, count]) => sum + count, 0)
}

/** Returns the record ids of each group of rows. */
async function idsOfRows({ barrier, layout }: ShowingContext, groups: readonly EventRows[], pace: Pace): Promise<IdsByRows> {
  const found = new Map<EventRows, string[]>()
  for (const name of new Set(groups.map(({ table }) => table))) {
    const table = layout.tables.get(name)
    if (table === undefined) continue
    const own = groups.filter((group) => group.table === name).map((group) => ({ group, rows: fromRuns(group.runs) }))
    const rows = own.flatMap((one) => one.rows)
    const ids: string[] = []
    while (ids.length < rows.length) {
      const slice = encodeRecordIds(barrier.ring, table, rows.slice(ids.length, ids.length + IDS_AT_ONCE))
      for (const id of slice) ids.push(id)
      await pace.worked(slice.length * ID_BYTES)
    }
    let start = 0
    for (const one of own) {
      found.set(one.group, ids.slice(start, start + one.rows.length))
      start += one.rows.length
    }
  }
  return found
}
