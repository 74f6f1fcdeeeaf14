/** Listing events: filters, pages beside concurrent writes, time ranges, records, and the required grant. */
import { expect, it } from 'vitest'
import type { AuditEvent, Caller, EventQueryInput } from '../../../src/index.ts'
import { type ClientSession, callerOf, eventsOf, listedBy, openClients } from '../../support/audit/audited-clients.ts'
import { doOperations } from '../../support/audit/audited-work.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { CLERK, OWNER } from '../../support/vaults/test-vault.ts'

type Filter = EventQueryInput['filterOps']

const ACCOUNT = { accountID: 'v1' }
const idOf = ({ context }: AuditEvent): string => context.changeID
const timeOf = ({ response }: AuditEvent): string => response.timestamp

/** Callers that differ in every member that a filter can have. */
const CALLERS: readonly Caller[] = [
  {
    ...OWNER,
    request: { requestID: 'r1', sessionID: 's1', ipAddress: '192.0.2.1', origin: 'o1', authMode: 'API_KEY', jwtID: 'j1' },
  },
  {
    ...OWNER,
    actor: 'bot',
    actorType: 'SERVICE_ACCOUNT',
    request: { accessType: 'SQL', bearerTokenContextID: 'b1', clientTraceID: 'c1' },
  },
  { ...OWNER, actor: 'eve', context: { email: 'end@acme.example' }, request: { authMode: 'IDP_JWT', keyID: 'k1', subject: 'x' } },
  { ...CLERK, request: { requestID: 'r1', sessionID: 's2' } },
]

async function query(session: ClientSession, more: Omit<EventQueryInput, 'filterOps'>, filter: Partial<Filter> = {}) {
  return session.listEvents({ filterOps: { ...ACCOUNT, ...filter }, ...more })
}

onEachStorage('listed events', (engine) => {
  it('are exactly those that match the filter', async () => {
    const vault = await openClients(engine.fresh().open())
    for (const caller of CALLERS) {
      const session = vault.as(caller)
      await session.insert('clients', [{ fields: { name: 'n' } }]).catch(() => {})
      await session.get('orders').catch(() => {})
      await session.detokenize([{ token: 'nothing' }]).catch(() => {})
    }
    const auditor = vault.as(callerOf('VAULT_OWNER'))
    const all = await listedBy(auditor)
    const recorded = (member: string, value: string): [Partial<Filter>, (event: AuditEvent) => boolean] => [
      { context: { [member]: value } },
      ({ context }) => Reflect.get(context, member) === value,
    ]
    const cases: readonly [Partial<Filter>, (event: AuditEvent) => boolean][] = [
      recorded('requestID', 'r1'),
      recorded('sessionID', 's2'),
      recorded('actor', 'bot'),
      recorded('actorType', 'SERVICE_ACCOUNT'),
      recorded('accessType', 'SQL'),
      recorded('ipAddress', '192.0.2.1'),
      recorded('origin', 'o1'),
      recorded('authMode', 'IDP_JWT'),
      recorded('jwtID', 'j1'),
      recorded('bearerTokenContextID', 'b1'),
      recorded('clientTraceID', 'c1'),
      recorded('changeID', all[4]?.context.changeID ?? ''),
      [{ context: { changeID: all[4]?.context.changeID.toUpperCase() ?? '' } }, (event) => event === all[4]],
      [{ request: { clientInfo: { userEmail: 'end@acme.example' } } }, ({ request }) => request.userEmail === 'end@acme.example'],
      [{ actionType: 'GET' }, ({ request }) => request.actionType === 'GET'],
      [{ resourceType: 'TOKEN' }, ({ request }) => request.resourceType === 'TOKEN'],
      [{ vaultID: 'v1' }, () => true],
      [{ vaultID: 'v2' }, () => false],
      [{ accountID: 'acme' }, () => false],
      [{ workspaceID: 'w' }, () => false],
      [{ parentAccountID: 'p' }, () => false],
      [{ resourceIDs: 'TABLE/orders' }, ({ request }) => request.resources.includes('TABLE/orders')],
      [{ resourceIDs: ['TABLE/clients', 'TABLE/orders'] }, ({ request }) => request.resources[0] !== 'VAULT/v1'],
      [
        { actionType: 'INSERT', context: { actor: CLERK.actor } },
        ({ request, response }) => request.actionType === 'INSERT' && response.code === 401,
      ],
      [{ context: { actor: '', actorType: 'NONE', accessType: 'ACCESS_NONE', authMode: 'AUTH_NONE' } }, () => true],
    ]
    for (const [filter, isAsked] of cases) {
      const { events } = await query(auditor, { limit: 100 }, filter)
      const known = new Set(all.map(idOf))
      const found = events.filter((event) => known.has(idOf(event)))
      expect(found.reverse(), JSON.stringify(filter)).toEqual(all.filter(isAsked))
    }
  })

  it('of a record are exactly those that name it', async () => {
    const vault = await openClients(engine.fresh().open())
    const session = vault.as(OWNER)
    const { records } = await session.insert('clients', [{ fields: { name: 'a' } }, { fields: { name: 'b' } }], {
      tokenization: true,
    })
    const [one, other] = records
    await session.updateOne('clients', other?.id ?? '', { country: 'SE' })
    await session.detokenize([{ token: one?.tokens.name ?? '' }])
    await session.get('clients')
    await session.deleteOne('clients', one?.id ?? '')
    const of = async (resourceIDs: string) =>
      (await query(session, {}, { resourceIDs })).events.map(({ request }) => request.actionType)
    expect(await of(`RECORD/${one?.id}`)).toEqual(['DELETE', 'GET', 'DETOKENIZE', 'INSERT'])
    expect(await of(`RECORD/${other?.id}`)).toEqual(['GET', 'UPDATE', 'INSERT'])
    expect(await of('RECORD/00000000-0000-4000-8000-000000000000')).toEqual([])
    expect(await of(`FILE/${one?.id}`)).toEqual([])
  })

  it('appear once each over all pages while other callers write', async () => {
    const vault = await openClients(engine.fresh().open())
    await doOperations(vault, { name: 'first', callers: 8, each: 8 })
    const before = (await eventsOf(vault)).map(({ changeID }) => changeID)
    const session = vault.as(OWNER)
    const seen: AuditEvent[] = []
    let after: EventQueryInput['afterOps']
    let pages = 0
    do {
      const [{ events, nextOps }] = await Promise.all([
        query(session, { limit: 7, ...(after === undefined ? {} : { afterOps: after }) }),
        doOperations(vault, { name: `page${pages}`, callers: 2, each: 2 }),
      ])
      seen.push(...events)
      after = nextOps
      pages++
    } while (after !== undefined)
    const ids = seen.map(idOf)
    expect(new Set(ids).size).toBe(ids.length)
    expect(before.filter((id) => !ids.includes(id))).toEqual([])
    const times = seen.map(timeOf)
    expect(times).toEqual([...times].sort().reverse())
  })

  it('by offset, sort and limit are slices of the full list', async () => {
    const vault = await openClients(engine.fresh().open())
    await doOperations(vault, { name: 'a', callers: 5, each: 8 })
    // The event after the last one: the first listing.
    await vault.as(OWNER).listEvents({ filterOps: { accountID: 'v1' } })
    const end = (await eventsOf(vault)).at(-1)?.timestamp ?? ''
    const session = vault.as(OWNER)
    const upTo = { endTime: end }
    const { events: newest } = await query(session, { limit: 100 }, upTo)
    expect(newest).toHaveLength(40)
    expect((await query(session, {}, upTo)).events).toEqual(newest.slice(0, 25))
    expect(await query(session, { offset: 10, limit: 5 }, upTo)).toEqual({ events: newest.slice(10, 15) })
    expect(await query(session, { offset: 40 }, upTo)).toEqual({ events: [] })
    const oldest = await query(session, { sortOps: { sortBy: 'timestamp', orderBy: 'ASCENDING' }, limit: 100 }, upTo)
    expect(oldest).toEqual({ events: [...newest].reverse() })
    const byCode = (await query(session, { sortOps: { sortBy: 'code', orderBy: 'DESCENDING' }, limit: 100 }, upTo)).events
    const codes = byCode.map(({ response }) => response.code)
    expect(codes).toEqual([...codes].sort((left, right) => right - left))
    expect(new Set(byCode.map(idOf))).toEqual(new Set(newest.map(idOf)))
  })

  it('of a time range are from its start to before its end, so that windows that adjoin have each event once', async () => {
    const vault = await openClients(engine.fresh().open())
    await doOperations(vault, { name: 'a', callers: 3, each: 5 })
    const session = vault.as(OWNER)
    const all = await eventsOf(vault)
    const times = all.map(({ timestamp }) => timestamp)
    const [startTime = '', endTime = ''] = [times[4], times[9]]
    const { events } = await query(session, { limit: 100 }, { startTime, endTime })
    const within = all.filter(({ timestamp }) => timestamp >= startTime && timestamp < endTime)
    expect(new Set(events.map(idOf))).toEqual(new Set(within.map(({ changeID }) => changeID)))
    expect((await query(session, {}, { startTime: endTime, endTime: startTime })).events).toEqual([])
    const last = new Date(Date.parse(times.at(-1) ?? '') + 1).toISOString()
    const edges = ['1970-01-01T00:00:00Z', ...times, last]
    const listed: string[] = []
    for (const [index, until] of edges.slice(1).entries()) {
      const window = { startTime: edges[index] ?? '', endTime: until }
      listed.push(...(await query(session, { limit: 100 }, window)).events.map(idOf))
    }
    const known = new Set(all.map(({ changeID }) => changeID))
    expect(listed.filter((id) => known.has(id)).sort()).toEqual([...known].sort())
  })

  it('require AUDIT: others get forbidden, which is recorded', async () => {
    const policy = { auditor: ['ALLOW AUDIT ON *'], reader: ['ALLOW READ ON *'] } as const
    const vault = await openClients(engine.fresh().open(), { policy })
    await expect(vault.as(callerOf('reader', 'VAULT_EDITOR')).listEvents({ filterOps: ACCOUNT })).rejects.toMatchObject({
      code: 'forbidden',
    })
    const { events } = await vault.as(callerOf('auditor')).listEvents({ filterOps: ACCOUNT })
    expect(events.map(({ request, response }) => [request.actionType, response.code])).toEqual([['LIST_EVENTS', 401]])
  })

  it('leave out events that fail authentication, log them, and verification reports them', async () => {
    const lines: unknown[] = []
    const line = (...said: unknown[]): unknown => lines.push(said)
    const storage = engine.fresh().open()
    const vault = await openClients(storage, { log: { info: line, warn: line, error: line } })
    const session = vault.as(OWNER)
    for (const name of ['a', 'b', 'c']) await session.insert('clients', [{ fields: { name } }])
    const [, row] = await storage.find('audit_events', { kind: 'all' }, { order: 'asc', limit: 2 })
    await storage.update('audit_events', [{ id: row?.id ?? 0, version: row?.version ?? 0, set: { body: new Uint8Array(90) } }])
    expect((await session.listEvents({ filterOps: ACCOUNT })).events).toHaveLength(2)
    expect(lines).toEqual([[{ row: row?.id }, 'an audit event failed authentication']])
    expect(await vault.verifyAudit()).toMatchObject({ ok: false, firstFailure: { sequence: 2 } })
  })
})
