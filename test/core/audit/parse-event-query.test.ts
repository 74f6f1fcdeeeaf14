/** What may be asked of the audit trail, and what is refused by name. */
import { describe, expect, test } from 'vitest'
import { parseEventQuery } from '../../../src/core/audit/parse-event-query.ts'
import { isVaultError } from '../../../src/core/errors.ts'

const filterOps = { accountID: 'acme' }

/** Message and gRPC code of the refusal. */
function refusal(input: unknown): { message: string; grpcCode: number } {
  try {
    parseEventQuery(input)
  } catch (error) {
    if (isVaultError(error, 'invalid_request')) return { message: error.message, grpcCode: error.grpcCode }
    throw error
  }
  throw new Error('was taken')
}

describe('a query is taken', () => {
  test('with nothing but the account: the newest 25', () => {
    expect(parseEventQuery({ filterOps })).toEqual({
      filter: { accountID: 'acme', isElsewhere: false, context: {} },
      limit: 25,
      offset: 0,
    })
  })

  test('with every member of the filter', () => {
    const { filter } = parseEventQuery({
      filterOps: {
        accountID: 'acme',
        vaultID: 'v1',
        resourceIDs: 'RECORD/abc, TABLE/people,',
        context: {
          changeID: 'c',
          requestID: 'r',
          actor: 'a',
          actorType: 'USER',
          accessType: 'API',
          authMode: 'STS',
          clientTraceID: 't',
        },
        request: { clientInfo: { userEmail: 'e' } },
        actionType: 'INSERT',
        resourceType: 'RECORD',
        startTime: '1970-01-01T01:00:00+01:00',
        endTime: '1970-01-01T00:00:01.5Z',
      },
    })
    expect(filter).toEqual({
      accountID: 'acme',
      isElsewhere: false,
      vaultID: 'v1',
      resources: [
        { type: 'RECORD', id: 'abc' },
        { type: 'TABLE', id: 'people' },
      ],
      context: {
        changeID: 'c',
        requestID: 'r',
        actor: 'a',
        actorType: 'USER',
        accessType: 'API',
        authMode: 'STS',
        clientTraceID: 't',
      },
      userEmail: 'e',
      action: 'INSERT',
      resourceType: 'RECORD',
      from: 0n,
      to: 1_500_000_000n,
    })
  })

  test('with empty texts and NONE asking for nothing', () => {
    const context = { changeID: '', actorType: 'NONE', accessType: 'ACCESS_NONE', authMode: 'AUTH_NONE', actor: '' }
    const empty = { vaultID: '', parentAccountID: '', resourceIDs: '', startTime: '', actionType: '', context }
    const query = {
      filterOps: { ...filterOps, ...empty },
      sortOps: { sortBy: '', orderBy: 'NONE' },
      afterOps: { timestamp: '', changeID: '' },
    }
    expect(parseEventQuery(query)).toEqual(parseEventQuery({ filterOps }))
  })

  test('with a page to go on from, whatever its time zone', () => {
    const afterOps = { timestamp: '2026-01-31T01:00:00.5+01:00', changeID: 'c' }
    expect(parseEventQuery({ filterOps, afterOps, sortOps: { orderBy: 'NONE' } }).after).toEqual({
      timestamp: '2026-01-31T00:00:00.500000000Z',
      changeID: 'c',
    })
  })

  test('with a direction alone, which is of the time', () => {
    expect(parseEventQuery({ filterOps, sortOps: { orderBy: 'ASCENDING' } }).sort).toEqual({
      by: 'timestamp',
      order: 'ASCENDING',
    })
    expect(parseEventQuery({ filterOps, sortOps: { sortBy: 'code' } }).sort).toEqual({ by: 'code', order: 'DESCENDING' })
  })

  test('with an account or workspace above the vault, of which there is none', () => {
    for (const above of ['parentAccountID', 'workspaceID']) {
      expect(parseEventQuery({ filterOps: { ...filterOps, [above]: 'x' } }).filter.isElsewhere).toBe(true)
    }
  })
})

describe('a query is refused', () => {
  const afterOps = { timestamp: '2026-01-31T00:00:00Z', changeID: 'c' }
  const goingOn = (more: object) => ({ filterOps, afterOps, ...more })
  test.each<[string, unknown, string, number]>([
    ['that is none', undefined, 'the query', 3],
    ['without an account', { filterOps: {} }, 'filterOps.accountID', 3],
    ['with an empty account', { filterOps: { accountID: '' } }, 'filterOps.accountID', 3],
    ['with an unknown member', { filterOps, secret: 1 }, 'a member of the query that nobody knows', 3],
    ['with an unknown member inside', { filterOps: { ...filterOps, secret: 1 } }, 'a member of filterOps that nobody knows', 3],
    ['with an unknown word', { filterOps: { ...filterOps, context: { actorType: 'secret' } } }, 'filterOps.context.actorType', 3],
    ['with a word in another case', { filterOps: { ...filterOps, actionType: 'insert' } }, 'filterOps.actionType', 3],
    [
      'with a client trace that is too long',
      { filterOps: { ...filterOps, context: { clientTraceID: 'x'.repeat(129) } } },
      'filterOps.context.clientTraceID',
      3,
    ],
    ['with a time that is none', { filterOps: { ...filterOps, startTime: 'secret' } }, 'filterOps.startTime', 3],
    ['with a time without offset', { filterOps: { ...filterOps, endTime: '2026-01-31T00:00:00' } }, 'filterOps.endTime', 3],
    ['with a resource without type', { filterOps: { ...filterOps, resourceIDs: 'secret' } }, 'filterOps.resourceIDs', 3],
    ['with a resource without id', { filterOps: { ...filterOps, resourceIDs: ['RECORD/'] } }, 'filterOps.resourceIDs', 3],
    [
      'with too many resources',
      { filterOps: { ...filterOps, resourceIDs: Array(101).fill('TABLE/a') } },
      'filterOps.resourceIDs',
      8,
    ],
    ['that goes on and sorts', goingOn({ sortOps: { sortBy: 'actor' } }), 'afterOps does not go together with sortOps', 3],
    ['that goes on and orders', goingOn({ sortOps: { orderBy: 'ASCENDING' } }), 'afterOps does not go together with sortOps', 3],
    ['that goes on and skips', goingOn({ offset: 0 }), 'afterOps does not go together with offset', 3],
    ['that goes on from half a place', { filterOps, afterOps: { changeID: 'c' } }, 'afterOps needs both', 3],
    ['that goes on from no time', { filterOps, afterOps: { timestamp: 'secret', changeID: 'c' } }, 'afterOps.timestamp', 3],
    ['with no page', { filterOps, limit: 0 }, 'limit must be a whole number from 1 to 100', 11],
    ['with too long a page', { filterOps, limit: 101 }, 'limit must be', 11],
    ['with a page in words', { filterOps, limit: '25' }, 'limit must be', 11],
    ['with half an offset', { filterOps, offset: 0.5 }, 'offset must be', 11],
    ['with an offset below zero', { filterOps, offset: -1 }, 'offset must be', 11],
  ])('%s', (_how, input, place, grpcCode) => {
    const refused = refusal(input)
    expect(refused.message).toContain(place)
    expect(refused.message).not.toContain('secret')
    expect(refused.grpcCode).toBe(grpcCode)
  })
})
