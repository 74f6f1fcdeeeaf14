/** Parsing of audit queries: accepted inputs, and errors that name the member. */
import { describe, expect, it } from 'vitest'
import { parseEventQuery } from '../../../src/core/audit/event-query.ts'
import { type ErrorCode, isVaultError, type VaultError } from '../../../src/core/errors.ts'

const filterOps = { accountID: 'acme' }

/** Returns the error of an invalid query. */
function errorOf(input: unknown): VaultError {
  try {
    parseEventQuery(input)
  } catch (error) {
    if (isVaultError(error)) return error
    throw error
  }
  throw new Error('was accepted')
}

describe('parseEventQuery accepts', () => {
  it('a query with only an account, with default limit and offset', () => {
    expect(parseEventQuery({ filterOps })).toEqual({
      filter: { accountID: 'acme', isOutsideVault: false, context: {} },
      limit: 25,
      offset: 0,
    })
  })

  it('every member of the filter', () => {
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
      isOutsideVault: false,
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
      actions: ['INSERT'],
      resourceType: 'RECORD',
      from: 0n,
      to: 1_500_000_000n,
    })
  })

  it('words of clients for several actions, and words of other kinds, which no event matches', () => {
    const filterOf = (more: object) => parseEventQuery({ filterOps: { ...filterOps, ...more } }).filter
    expect(filterOf({ actionType: 'CREATE' }).actions).toEqual(['INSERT', 'UPLOAD_FILE', 'UPLOAD_URL', 'CREATE_CREDENTIAL'])
    expect(filterOf({ actionType: 'READ' }).actions).toContain('GET')
    expect(filterOf({ actionType: 'EXECUTE' }).actions).toEqual([
      'BATCH',
      'SCAN_FILE',
      'ROTATE_KEYS',
      'REWRAP_KEYS',
      'DESTROY_KEY',
      'ROTATE_LOOKUPS',
      'CHANGE_SCHEMA',
      'FORGET',
    ])
    expect(filterOf({ actionType: 'LOGIN' }).actions).toEqual(['ISSUE_BEARER'])
    for (const word of ['UPDATE', 'DELETE']) expect(filterOf({ actionType: word }).actions).toEqual([word])
    expect(filterOf({ actionType: 'ASSIGN' }).isOutsideVault).toBe(true)
    expect(filterOf({ resourceType: 'POLICY' }).isOutsideVault).toBe(true)
    expect(filterOf({ resourceIDs: 'POLICY/p1' })).toMatchObject({ resources: [], isOutsideVault: false })
    expect(filterOf({ resourceIDs: 'POLICY/p1,TABLE/a' }).resources).toEqual([{ type: 'TABLE', id: 'a' }])
  })

  it('times without an offset as clients write them, in UTC', () => {
    const times = { startTime: '2023-01-01 00:00:00', endTime: '2023-01-01 00:00:00.5' }
    const { from, to } = parseEventQuery({ filterOps: { ...filterOps, ...times } }).filter
    expect([from, to]).toEqual([1_672_531_200_000_000_000n, 1_672_531_200_500_000_000n])
  })

  it('empty texts and NONE as members that are not set', () => {
    const context = { changeID: '', actorType: 'NONE', accessType: 'ACCESS_NONE', authMode: 'AUTH_NONE', actor: '' }
    const empty = {
      vaultID: '',
      parentAccountID: '',
      resourceIDs: '',
      startTime: '',
      actionType: 'NONE',
      resourceType: '',
      context,
    }
    const query = {
      filterOps: { ...filterOps, ...empty },
      sortOps: { sortBy: '', orderBy: 'NONE' },
      afterOps: { timestamp: '', changeID: '' },
    }
    expect(parseEventQuery(query)).toEqual(parseEventQuery({ filterOps }))
  })

  it('NONE as a text that is no word of an enum', () => {
    const context = { actor: 'NONE', requestID: 'AUTH_NONE', actorType: 'NONE' } as const
    expect(parseEventQuery({ filterOps: { ...filterOps, context } }).filter.context).toEqual({
      actor: 'NONE',
      requestID: 'AUTH_NONE',
    })
  })

  it('afterOps with any time zone', () => {
    const afterOps = { timestamp: '2026-01-31T01:00:00.5+01:00', changeID: 'c' }
    expect(parseEventQuery({ filterOps, afterOps, sortOps: { orderBy: 'NONE' } }).after).toEqual({
      timestamp: '2026-01-31T00:00:00.500000000Z',
      changeID: 'c',
    })
  })

  it('a direction without a member, which sorts by time', () => {
    expect(parseEventQuery({ filterOps, sortOps: { orderBy: 'ASCENDING' } }).sort).toEqual({
      by: 'timestamp',
      order: 'ASCENDING',
    })
    expect(parseEventQuery({ filterOps, sortOps: { sortBy: 'code' } }).sort).toEqual({ by: 'code', order: 'DESCENDING' })
  })

  it('a parent account or workspace, which no event matches', () => {
    for (const above of ['parentAccountID', 'workspaceID']) {
      expect(parseEventQuery({ filterOps: { ...filterOps, [above]: 'x' } }).filter.isOutsideVault).toBe(true)
    }
  })
})

describe('parseEventQuery rejects', () => {
  const afterOps = { timestamp: '2026-01-31T00:00:00Z', changeID: 'c' }
  const continued = (more: object) => ({ filterOps, afterOps, ...more })
  it.each<[string, unknown, string, ErrorCode]>([
    ['undefined', undefined, 'The query must be an object.', 'invalid_request'],
    ['an empty account', { filterOps: { accountID: '' } }, 'filterOps.accountID', 'invalid_request'],
    [
      'an unknown member',
      { filterOps, filter: 1 },
      'Unknown option "filter". Did you mean "filterOps"? Supported: filterOps,',
      'invalid_request',
    ],
    [
      'an unknown member of the filter',
      { filterOps: { ...filterOps, acter: 1 } },
      'Unknown option "acter" of filterOps. Supported: accountID,',
      'invalid_request',
    ],
    [
      'an unknown actorType',
      { filterOps: { ...filterOps, context: { actorType: 'secret' } } },
      'filterOps.context.actorType',
      'invalid_request',
    ],
    [
      'an action type in lower case',
      { filterOps: { ...filterOps, actionType: 'insert' } },
      'filterOps.actionType',
      'invalid_request',
    ],
    [
      'a clientTraceID of 129 characters',
      { filterOps: { ...filterOps, context: { clientTraceID: 'x'.repeat(129) } } },
      'filterOps.context.clientTraceID',
      'invalid_request',
    ],
    ['text that is not a time', { filterOps: { ...filterOps, startTime: 'secret' } }, 'filterOps.startTime', 'invalid_request'],
    [
      'a time without an offset',
      { filterOps: { ...filterOps, endTime: '2026-01-31T00:00:00' } },
      'filterOps.endTime',
      'invalid_request',
    ],
    [
      'a date without a time',
      { filterOps: { ...filterOps, endTime: '2026-01-31' } },
      'filterOps.endTime must be a time such as',
      'invalid_request',
    ],
    [
      'a time of no calendar',
      { filterOps: { ...filterOps, endTime: '2026-02-30 00:00:00' } },
      'filterOps.endTime',
      'invalid_request',
    ],
    [
      'a resource without a type',
      { filterOps: { ...filterOps, resourceIDs: 'secret' } },
      'filterOps.resourceIDs',
      'invalid_request',
    ],
    [
      'a resource without an id',
      { filterOps: { ...filterOps, resourceIDs: ['RECORD/'] } },
      'filterOps.resourceIDs',
      'invalid_request',
    ],
    [
      '101 resources',
      { filterOps: { ...filterOps, resourceIDs: Array(101).fill('TABLE/a') } },
      'filterOps.resourceIDs names more than 100 resources.',
      'limit_exceeded',
    ],
    [
      'afterOps with sortBy',
      continued({ sortOps: { sortBy: 'actor' } }),
      'afterOps cannot be combined with sortOps',
      'invalid_request',
    ],
    [
      'afterOps with orderBy',
      continued({ sortOps: { orderBy: 'ASCENDING' } }),
      'afterOps cannot be combined with sortOps',
      'invalid_request',
    ],
    ['afterOps with offset', continued({ offset: 0 }), 'afterOps cannot be combined with offset', 'invalid_request'],
    ['afterOps without a timestamp', { filterOps, afterOps: { changeID: 'c' } }, 'afterOps must have both', 'invalid_request'],
    [
      'afterOps with text that is not a time',
      { filterOps, afterOps: { timestamp: 'secret', changeID: 'c' } },
      'afterOps.timestamp',
      'invalid_request',
    ],
    ['a limit of 0', { filterOps, limit: 0 }, 'limit must be an integer from 1 to 100', 'out_of_range'],
    ['a limit of 101', { filterOps, limit: 101 }, 'limit must be', 'out_of_range'],
    ['a limit as text', { filterOps, limit: '25' }, 'limit must be', 'out_of_range'],
    ['an offset of 0.5', { filterOps, offset: 0.5 }, 'offset must be', 'out_of_range'],
    ['a negative offset', { filterOps, offset: -1 }, 'offset must be', 'out_of_range'],
  ])('%s', (_how, input, text, code) => {
    const error = errorOf(input)
    expect(error.message).toContain(text)
    expect(error.message).not.toContain('secret')
    expect(error.code).toBe(code)
  })
})
