/** Cuts a page out of matching events, in the order asked for, holding no more of them than the page needs. */
import { unreachable } from '../util/unreachable.ts'
import type { ChainedEvent } from './event.ts'
import type { AfterEvent, EventQuery, SortMember } from './event-query.ts'

/** One page. `next` is where the next one goes on; absent where there is none, or where pages are asked for by offset or sorted. */
export interface EventPage {
  readonly events: readonly ChainedEvent[]
  readonly next?: AfterEvent
}

/** Negative when the left event comes first. */
type Order = (left: ChainedEvent, right: ChainedEvent) => number

/** Takes matching events in any order, as they are found, and answers the page. */
export class EventPager {
  readonly #query: EventQuery
  readonly #order: Order
  /** Events up to the end of the page, and one more to know whether another page follows. */
  readonly #most: number
  #kept: ChainedEvent[] = []

  constructor(query: EventQuery) {
    this.#query = query
    this.#order = orderOf(query)
    this.#most = query.offset + query.limit + 1
  }

  /** Takes a matching event; one that stands on an earlier page is passed over. */
  add(event: ChainedEvent): void {
    const { after } = this.#query
    if (after !== undefined && newestFirst(after, event) >= 0) return
    this.#kept.push(event)
    // Sorting now and then, rather than for every event, keeps each of them cheap.
    if (this.#kept.length >= 2 * this.#most) this.#cut()
  }

  /** True when no event older than all that were added can be on the page, provided nothing is sorted. */
  get isFull(): boolean {
    return this.#query.sort === undefined && this.#kept.length >= this.#most
  }

  /** The page out of all that was added. */
  page(): EventPage {
    this.#cut()
    const { offset, limit, sort } = this.#query
    const events = this.#kept.slice(offset, offset + limit)
    const last = events.at(-1)
    if (last === undefined || this.#kept.length < this.#most || sort !== undefined || offset > 0) return { events }
    return { events, next: { timestamp: last.timestamp, changeID: last.changeID } }
  }

  #cut(): void {
    this.#kept = this.#kept.sort(this.#order).slice(0, this.#most)
  }
}

/** Events alike in what they are sorted by stand newest first. */
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

/** By time, then by id: lanes may have events of one moment, but no two have one id. All timestamps are equally long, so their texts order as they do. */
function newestFirst(left: AfterEvent, right: AfterEvent): number {
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
