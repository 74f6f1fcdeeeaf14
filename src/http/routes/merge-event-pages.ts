/** One page of audit events from the pages of several vaults. */
import { type EventQueryInput, type OperationResult, VaultError } from '../../index.ts'

type Page = OperationResult<'listEvents'>
type Event = Page['events'][number]

const DEFAULT_LIMIT = 25
const MAX_LIMIT = 100

/**
 * Pages of several vaults. Each vault is asked for as many events as the page can have of it, so offset and limit together are at most 100; later
 * pages need `afterOps`. Sorting is by time only, because other members are compared inside one vault.
 */
export const mergePages = {
  /** Returns the query for each vault. Throws `invalid_request`, `out_of_range` for one that only a single vault answers. */
  toEach(query: EventQueryInput): EventQueryInput {
    const { limit = DEFAULT_LIMIT, offset = 0, sortOps, ...rest } = query
    if (sortOps?.sortBy !== undefined && sortOps.sortBy !== 'timestamp')
      throw new VaultError(
        'invalid_request',
        'Events of several vaults are sorted by timestamp. Name one by filterOps.vaultID, or leave sortOps.sortBy out.',
      )
    if (offset + limit > MAX_LIMIT)
      throw new VaultError(
        'out_of_range',
        `offset and limit of several vaults are together at most ${MAX_LIMIT}. Use afterOps, or name one by filterOps.vaultID.`,
      )
    return { ...rest, ...(sortOps === undefined ? {} : { sortOps }), limit: Math.min(offset + limit + 1, MAX_LIMIT) }
  },

  /** Returns the page. */
  merge({ limit = DEFAULT_LIMIT, offset = 0, sortOps }: EventQueryInput, pages: readonly Page[]): Page {
    const sign = sortOps?.orderBy === 'ASCENDING' ? -1 : 1
    const all = pages.flatMap(({ events }) => events).sort((left, right) => sign * newestFirst(left, right))
    const events = all.slice(offset, offset + limit)
    const last = events.at(-1)
    const hasMore = all.length > offset + limit || pages.some(({ nextOps }) => nextOps !== undefined)
    if (last === undefined || !hasMore || sortOps !== undefined || offset > 0) return { events }
    return { events, nextOps: { timestamp: last.response.timestamp, changeID: last.context.changeID } }
  },
} as const

function newestFirst(left: Event, right: Event): number {
  return compare(right.response.timestamp, left.response.timestamp) || compare(right.context.changeID, left.context.changeID)
}

function compare(left: string, right: string): number {
  if (left === right) return 0
  return left < right ? -1 : 1
}
