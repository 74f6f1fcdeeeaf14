/** Collects a page of matching events, in the requested order. Holds at most twice the events that the page needs. */
import { unreachable } from '../util/causes.ts'
import type { ChainedEvent } from './event.ts'
import type { AuditAfterOptions, EventQuery, SortMember } from './event-query.ts'

/** One page. `next` is where the next page starts; absent on the last page, and for queries with offset or sorting. */
export interface EventPage {
  readonly events: readonly ChainedEvent[]
  readonly next?: AuditAfterOptions
}

/** Returns a negative number if the left event is first. */
type Order = (left: ChainedEvent, right: ChainedEvent) => number

/** Takes matching events in any order and returns the page. */
export class EventPager {
  readonly #query: EventQuery
  readonly #order: Order
  /** Number of events up to the end of the page, and one more that shows whether a next page exists. */
  readonly #limit: number
  #events: ChainedEvent[] = []

  constructor(query: EventQuery) {
    this.#query = query
    this.#order = orderOf(query)
    this.#limit = query.offset + query.limit + 1
  }

  /** Adds a matching event. Ignores events of earlier pages. */
  add(event: ChainedEvent): void {
    const { after } = this.#query
    if (after !== undefined && newestFirst(after, event) >= 0) return
    this.#events.push(event)
    // Sorts once per so many events, not for every event.
    if (this.#events.length >= 2 * this.#limit) this.#cut()
  }

  /** True if no event older than all added ones can be on the page. Never true for sorted queries. */
  get isFull(): boolean {
    return this.#query.sort === undefined && this.#events.length >= this.#limit
  }

  /** Returns the page of the added events. */
  page(): EventPage {
    this.#cut()
    const { offset, limit, sort } = this.#query
    const events = this.#events.slice(offset, offset + limit)
    const last = events.at(-1)
    if (last === undefined || this.#events.length < this.#limit || sort !== undefined || offset > 0) return { events }
    return { events, next: { timestamp: last.timestamp, changeID: last.changeID } }
  }

  #cut(): void {
    this.#events = this.#events.sort(this.#order).slice(0, this.#limit)
  }
}

/** Returns the order of a query. Events with equal sort keys are newest first. */
function orderOf({ sort }: EventQuery): Order {
  if (sort === undefined) return newestFirst
  const { by, order } = sort
  const sign = order === 'ASCENDING' ? 1 : -1
  return (left, right) => {
    const difference = compare(memberOf(left, by), memberOf(right, by))
    if (difference !== 0) return sign * difference
    return by === 'timestamp' ? sign * compare(left.changeID, right.changeID) : newestFirst(left, right)
  }
}

/** Compares by time, then by id: events of two chains can have equal times, but never equal ids. Timestamps have equal length, so their texts order as the times do. */
function newestFirst(left: AuditAfterOptions, right: AuditAfterOptions): number {
  return compare(right.timestamp, left.timestamp) || compare(right.changeID, left.changeID)
}

function memberOf(event: ChainedEvent, member: SortMember): string | number {
  switch (member) {
    case 'timestamp':
      return event.timestamp
    case 'changeID':
      return event.changeID
    case 'requestID':
      return event.context.requestID
    case 'actor':
      return event.context.actor
    case 'actionType':
      return event.action
    case 'code':
      return event.code
    default:
      return unreachable(member)
  }
}

function compare(left: string | number, right: string | number): number {
  return left < right ? -1 : left > right ? 1 : 0
}
