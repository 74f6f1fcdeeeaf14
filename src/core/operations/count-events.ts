/** Count events: how many events of each action each part of a range of time has, and how many did not succeed, without opening all of each. */
import type { ActionType } from '../audit/event.ts'
import { type EventQuery, type EventQueryInput, parseEventQuery, RECORDED_EVENT_QUERY } from '../audit/event-query.ts'
import { createEventTest } from '../audit/listed-events.ts'
import { type CountedEvent, decodeCounted, decodeEvent } from '../audit/read-event.ts'
import { eachNewest } from '../audit-log/newest-events.ts'
import { fault } from '../errors.ts'
import { parseInteger } from '../execution/check-input.ts'
import { assertAuditor } from '../execution/grants.ts'
import type { Operation } from '../execution/operation.ts'
import { assertFewEvents, readableEvents, recordRows } from '../execution/read-events.ts'
import { at } from '../util/lists.ts'
import { toTimestamp } from '../util/time.ts'

/** Input of a count. */
export interface CountEventsInput {
  /** RFC 3339 with an offset. The range is from `from` (inclusive) to `to` (exclusive). */
  readonly from: string
  readonly to: string
  /** Parts of equal length, 1 to 200. */
  readonly bins: number
  /** A filter as that of a listing, without times. Default: all events of the vault. */
  readonly filter?: Omit<EventQueryInput['filterOps'], 'startTime' | 'endTime'>
}

/** A part of the range, and what happened in it. */
export interface EventBin {
  /** Its first moment, as a timestamp. */
  readonly from: string
  /** Events that succeeded, by action. */
  readonly counts: Readonly<Partial<Record<ActionType, number>>>
  /** Events that did not: refused, or failed. */
  readonly refused: number
}

/** Counted events. */
export interface EventCounts {
  readonly bins: readonly EventBin[]
  readonly total: number
}

/** A parsed count. Times are in nanoseconds since 1970. */
export interface CountRequest {
  readonly query: EventQuery
  readonly from: bigint
  readonly to: bigint
  readonly bins: number
}

const MAX_BINS = 200
/** The lowest status of an event that did not succeed. */
const FIRST_FAILURE = 400

/** Returns the counts. Throws `forbidden` without AUDIT, `invalid_request` that names the invalid member, `limit_exceeded` if too many events must be read. */
export const countEvents: Operation<CountEventsInput, CountRequest, EventCounts> = {
  action: 'LIST_EVENTS',
  resourceType: 'VAULT',
  verb: 'Count events',
  members: ['from', 'to', 'bins', 'filter'],
  recorded: { from: 'value', to: 'value', bins: 'number', filter: RECORDED_EVENT_QUERY.filterOps },
  parse({ from: startTime, to: endTime, bins, filter = {} }) {
    if (typeof filter !== 'object' || filter === null || Array.isArray(filter))
      throw fault('invalid_request')`filter must be an object.`
    if ('startTime' in filter || 'endTime' in filter) throw fault('invalid_request')`filter has no times. Use from and to.`
    const query = parseEventQuery({ filterOps: { ...filter, startTime, endTime } })
    const { from, to } = query.filter
    if (from === undefined || to === undefined || from >= to)
      throw fault('invalid_request')`from and to are required, and from must be before to.`
    return { query, from, to, bins: parseInteger(bins, 'bins', [1, MAX_BINS]) }
  },
  async execute(context, { query, from, to, bins: count }) {
    assertAuditor(context)
    const width = (to - from + BigInt(count) - 1n) / BigInt(count)
    const bins = Array.from({ length: count }, (_, index) => new OpenBin(toTimestamp(from + width * BigInt(index))))
    const { isCountable, matches } = testOf(query, recordRows(context, query))
    const decode: (bytes: Uint8Array) => CountedEvent = isCountable ? decodeCounted : decodeEvent
    let seen = 0
    let total = 0
    for await (const found of eachNewest(context.audit, { since: from, until: to }, decode)) {
      seen += found.length
      assertFewEvents(seen)
      for (const { at: time, event } of readableEvents(context, found)) {
        if (!matches(event)) continue
        at(bins, Number((time - from) / width)).add(event)
        total++
      }
    }
    return { bins, total }
  },
}

/** Returns the test of a query without its times, and whether it reads no more than what is counted. */
function testOf(
  { filter: { from: _, to: __, ...filter } }: EventQuery,
  rows: Parameters<typeof createEventTest>[1],
): { readonly isCountable: boolean; matches(event: CountedEvent): boolean } {
  const { context, resources, resourceType, userEmail } = filter
  const others = [...Object.values(context), resources, resourceType, userEmail]
  const test = createEventTest(filter, rows)
  // The cast is safe: an event that is not decoded whole is tested only by what is counted.
  return { isCountable: others.every((one) => one === undefined), matches: test as (event: CountedEvent) => boolean }
}

/** A part that is being counted. */
class OpenBin implements EventBin {
  readonly from: string
  readonly counts: Partial<Record<ActionType, number>> = {}
  refused = 0

  constructor(from: string) {
    this.from = from
  }

  add({ action, code }: CountedEvent): void {
    if (code >= FIRST_FAILURE) this.refused++
    else this.counts[action] = (this.counts[action] ?? 0) + 1
  }
}
