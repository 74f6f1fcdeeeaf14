/** Listing of events: filters, order, pages, and the form of the result. */
import { describe, expect, it } from 'vitest'
import { type ChainedEvent, fromRuns } from '../../../src/core/audit/event.ts'
import { type EventFilter, type EventQueryInput, parseEventQuery } from '../../../src/core/audit/event-query.ts'
import {
  createEventTest,
  type IdsByRows,
  type RecordRow,
  type RecordRows,
  rowsOfEvent,
  toAuditEvent,
} from '../../../src/core/audit/listed-events.ts'
import { EventPager } from '../../../src/core/audit/page-events.ts'
import { decodeEvent } from '../../../src/core/audit/read-event.ts'
import { DRAFT, FAILED_DRAFT, FULL_DRAFT, START, writeChain, writeTrail } from '../../support/audit/sample-trails.ts'
import { seededRandom } from '../../support/random/seeded-random.ts'

/** One event of each sample: an insert of people 1 to 1000, a batch with people 1, 2 and 9, a query that failed. */
const EVENTS = writeChain(1, [DRAFT, FULL_DRAFT, FAILED_DRAFT]).rows.map(({ bytes }) => decodeEvent(bytes))

/** Record ids in this test are the table and the row. */
const recordRows = (filter: EventFilter): RecordRows =>
  new Map(
    (filter.resources ?? []).flatMap(({ id }): [string, RecordRow][] => {
      const [table = '', row] = id.split('#')
      return row === undefined ? [] : [[id, { table, row: Number(row) }]]
    }),
  )
const idsOf = (event: ChainedEvent): IdsByRows =>
  new Map(
    rowsOfEvent(event).map((group) => [
      group,
      group.table === 'gone' ? [] : fromRuns(group.runs).map((row) => `${group.table}#${row}`),
    ]),
  )

type Filter = Partial<EventQueryInput['filterOps']>

function matches(filterOps: Filter): number[] {
  const { filter } = parseEventQuery({ filterOps: { accountID: 'acme', ...filterOps } })
  const isAsked = createEventTest(filter, recordRows(filter))
  return EVENTS.flatMap((event, index) => (isAsked(event) ? index : []))
}

describe('a filter', () => {
  const time = (nanoseconds: number) => `2027-01-15T08:00:00.00000000${nanoseconds}Z`
  it.each<[string, Filter, number[]]>([
    ['of the account alone finds all', {}, [0, 1, 2]],
    ['of another account finds no event', { accountID: 'other' }, []],
    ['of a parent account finds no event', { parentAccountID: 'acme' }, []],
    ['of a workspace finds no event', { workspaceID: 'w' }, []],
    ['of the vault finds its events', { vaultID: 'v1' }, [0, 1, 2]],
    ['of another vault finds no event', { vaultID: 'v2' }, []],
    ['of an action', { actionType: 'BATCH' }, [1]],
    ['of a type of resource', { resourceType: 'VAULT' }, [1, 2]],
    ['of the end user', { request: { clientInfo: { userEmail: 'cy@acme.example' } } }, [1]],
    ['of a change', { context: { changeID: EVENTS[2]?.changeID ?? '' } }, [2]],
    ['of the context', { context: { sessionID: 's', actor: 'ann@acme.example' } }, [1]],
    ['of a kind of actor no event has', { context: { actorType: 'GROUP' } }, []],
    ['of a time to begin', { startTime: time(1) }, [1, 2]],
    ['of a time to end', { endTime: time(1) }, [0]],
    ['of one moment', { startTime: time(1), endTime: time(2) }, [1]],
    ['of no time', { startTime: time(1), endTime: time(1) }, []],
    ['of a word of several actions', { actionType: 'EXECUTE' }, [1]],
    ['of an action no event has', { actionType: 'ASSIGN' as never }, []],
    ['of a type of resource no event has', { resourceType: 'POLICY' as never }, []],
    ['of a resource of a type no event has', { resourceIDs: 'POLICY/people' }, []],
    ['of a record', { resourceIDs: 'RECORD/people#9' }, [0, 1]],
    ['of a credential', { resourceIDs: 'CREDENTIAL/key 1' }, [1]],
    ['of an unknown credential', { resourceIDs: 'CREDENTIAL/key 2' }, []],
    ['of a record of many', { resourceIDs: 'RECORD/people#1000' }, [0]],
    ['of a record without events', { resourceIDs: 'RECORD/people#1001' }, []],
    ['of an invalid id', { resourceIDs: 'RECORD/nonsense' }, []],
    ['of a record of another table', { resourceIDs: 'RECORD/orders#1' }, []],
    ['of a file', { resourceIDs: 'FILE/people#1' }, []],
    ['of a token', { resourceIDs: 'TOKEN/x' }, []],
    ['of a table', { resourceIDs: 'TABLE/people' }, [0, 1]],
    ['of the vault as a resource', { resourceIDs: ['VAULT/v1'] }, [0, 1, 2]],
    ['of one resource or another', { resourceIDs: ['RECORD/nonsense', 'RECORD/people#1000'] }, [0]],
    ['of several members finds events that match all of them', { actionType: 'QUERY', resourceIDs: 'TABLE/people' }, []],
  ])('%s', (_of, filterOps, found) => {
    expect(matches(filterOps)).toEqual(found)
  })
})

describe('pages', () => {
  const all = writeTrail([40, 30, 25]).rows.map(({ bytes }) => decodeEvent(bytes))
  const newest = [...all].sort(
    (left, right) => compare(right.timestamp, left.timestamp) || compare(right.changeID, left.changeID),
  )
  const page = (query: Omit<EventQueryInput, 'filterOps'>, events: readonly ChainedEvent[] = all) => {
    const pager = new EventPager(parseEventQuery({ filterOps: { accountID: 'acme' }, ...query }))
    for (const event of events) pager.add(event)
    return pager.page()
  }

  it('return every event once, newest first, for events found in any order', () => {
    const random = seededRandom('pages')
    const shuffled = [...all].map((event) => [random(), event] as const).sort(([left], [right]) => left - right)
    const found: ChainedEvent[] = []
    let next: ReturnType<typeof page>['next']
    do {
      const one = page(
        { limit: 7, ...(next === undefined ? {} : { afterOps: next }) },
        shuffled.map(([, event]) => event),
      )
      found.push(...one.events)
      next = one.next
    } while (next !== undefined)
    expect(found.map(({ changeID }) => changeID)).toEqual(newest.map(({ changeID }) => changeID))
  })

  it('by offset return the same events, without a next page', () => {
    const pages = Array.from({ length: 14 }, (_, index) => page({ limit: 7, offset: index * 7 }))
    expect(pages.flatMap(({ events }) => events)).toEqual(newest)
    expect(pages.slice(1).map(({ next }) => next)).toEqual(Array(13).fill(undefined))
  })

  it('sorted by a member return events with equal keys newest first', () => {
    const { events, next } = page({ sortOps: { sortBy: 'actionType', orderBy: 'ASCENDING' }, limit: 100 })
    const expected = [...newest].sort((left, right) => compare(left.action, right.action))
    expect(events).toEqual(expected)
    expect(next).toBeUndefined()
  })

  it.each(['timestamp', 'changeID', 'requestID', 'actor', 'code'] as const)(
    'sorted by %s are reversed by the direction',
    (sortBy) => {
      const up = page({ sortOps: { sortBy, orderBy: 'ASCENDING' }, limit: 100 }).events
      const down = page({ sortOps: { sortBy, orderBy: 'DESCENDING' }, limit: 100 }).events
      expect(up).toHaveLength(95)
      if (sortBy === 'timestamp' || sortBy === 'changeID') expect(up).toEqual([...down].reverse())
      else expect(new Set(up)).toEqual(new Set(down))
    },
  )

  it('are empty without events', () => {
    expect(page({}, [])).toEqual({ events: [] })
  })

  it('continue after an event that no longer exists', () => {
    const gone = newest[3] ?? newest[0]
    const afterOps = { timestamp: gone?.timestamp ?? '', changeID: gone?.changeID ?? '' }
    expect(
      page(
        { limit: 2, afterOps },
        all.filter((event) => event !== gone),
      ).events,
    ).toEqual(newest.slice(4, 6))
  })
})

describe('toAuditEvent', () => {
  it('returns rows as record ids, and the other members as specified', () => {
    const [, full] = EVENTS
    expect(full && toAuditEvent({ event: full }, idsOf(full))).toEqual({
      context: { ...withoutEmail(FULL_DRAFT), changeID: full?.changeID },
      request: {
        actionType: 'BATCH',
        resourceType: 'VAULT',
        vaultID: 'v1',
        resources: ['TABLE/people', 'RECORD/people#1', 'RECORD/people#2', 'RECORD/people#9', 'CREDENTIAL/key 1'],
        userEmail: 'cy@acme.example',
      },
      response: {
        code: 200,
        message: '',
        timestamp: '2027-01-15T08:00:00.000000001Z',
        data: { content: '{}' },
        nestedResponse: [
          { code: 200, message: '', identifier: 'RECORD/people#1', data: { content: '{}' } },
          { code: 404, message: 'Get failed.', identifier: '' },
        ],
      },
    })
  })

  it('returns the vault for an event without table and rows', () => {
    const [, , failed] = EVENTS
    expect(failed && toAuditEvent({ event: failed }, idsOf(failed)).request.resources).toEqual(['VAULT/v1'])
  })

  it('returns no ids of a table that does not exist', () => {
    const [insert] = EVENTS
    const rows = [{ table: 'gone', runs: [[1, 2] as const] }]
    const event = insert && { ...insert, table: 'gone', rows }
    expect(event && toAuditEvent({ event }, idsOf(event)).request.resources).toEqual(['TABLE/gone'])
  })

  it('returns the time of the event', () => {
    const [insert] = writeChain(1, [DRAFT], { now: START + 123_456_789n }).rows.map(({ bytes }) => decodeEvent(bytes))
    expect(insert && toAuditEvent({ event: insert }, idsOf(insert)).response.timestamp).toBe('2027-01-15T08:00:00.123456789Z')
  })
})

function withoutEmail({ context: { userEmail: _email, ...context } }: typeof FULL_DRAFT) {
  return context
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}
