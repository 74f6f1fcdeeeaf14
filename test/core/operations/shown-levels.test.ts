/** Events say at which level values were shown, counts agree with lists, and lists can be short and name the keys of events. */
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { createApiKey } from '../../../src/http/index.ts'
import type { Caller, EventQueryInput } from '../../../src/index.ts'
import { callerOf, eventsOf, openClients, PEOPLE } from '../../support/audit/audited-clients.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const ALL: EventQueryInput = { filterOps: {} }

async function open() {
  const policy = {
    masked: ['ALLOW READ, SEARCH, DETOKENIZATION ON clients.* WITH REDACTION = MASKED'],
    some: [
      "ALLOW READ ON clients.name WITH REDACTION = PLAIN_TEXT WHERE country = 'SE'",
      'ALLOW READ ON clients.country WITH REDACTION = MASKED',
    ],
    plain: ['ALLOW READ, SEARCH, DETOKENIZATION ON clients.* WITH REDACTION = PLAIN_TEXT'],
  }
  const vault = await openClients(memoryStorage(), { policy })
  const owner = vault.as(OWNER)
  const inserted = await owner.insert(
    'clients',
    PEOPLE.map((fields) => ({ fields })),
    { tokenization: true },
  )
  const [anna, bert] = inserted.records.map(({ id }) => id)
  const token = inserted.records[0]?.tokens.name ?? ''
  return { vault, owner, anna: anna ?? '', bert: bert ?? '', token }
}

describe('an event', () => {
  it('has the highest level at which values were shown, whichever way', async () => {
    const { vault, owner, anna, bert, token } = await open()
    const [masked, some, plain] = ['masked', 'some', 'plain'].map((role) => vault.as(callerOf(role)))
    if (masked === undefined || some === undefined || plain === undefined) return expect.fail('three sessions are made')
    const before = (await eventsOf(vault)).length
    const calls: readonly (readonly [level: string | undefined, call: () => Promise<unknown>])[] = [
      ['MASKED', () => masked.getOne('clients', anna, { fields: ['name'] })],
      // Columns that the schema itself shows in plain text say nothing of what was looked at.
      [undefined, () => plain.get('clients', { fields: ['email', 'salary'], redaction: 'PLAIN_TEXT' })],
      ['MASKED', () => plain.query('SELECT name, country FROM clients')],
      ['PLAIN_TEXT', () => plain.getByTokens([token], { redaction: 'PLAIN_TEXT' })],
      ['PLAIN_TEXT', () => plain.getOne('clients', anna, { redaction: 'PLAIN_TEXT' })],
      ['MASKED', () => plain.get('clients')],
      ['REDACTED', () => plain.get('clients', { redaction: 'REDACTED' })],
      [undefined, () => plain.get('clients', { tokenization: true })],
      [undefined, () => plain.get('clients', { where: { salary: 999 } })],
      ['PLAIN_TEXT', () => some.getOne('clients', anna, { redaction: 'PLAIN_TEXT' })],
      [undefined, () => some.getOne('clients', bert, { redaction: 'PLAIN_TEXT' })],
      ['MASKED', () => masked.detokenize([{ token }])],
      ['MASKED', () => masked.getByTokens([token], { columnOnly: true })],
      ['MASKED', () => masked.query('SELECT svc_id, name FROM clients')],
      [undefined, () => masked.query('SELECT COUNT(*) FROM clients')],
      [
        'MASKED',
        () =>
          masked.batch([
            { get: 'clients', id: anna },
            { get: 'clients', id: bert },
          ] as never),
      ],
      [undefined, () => masked.getOne('clients', '5a4bc4ef-11f5-4c08-9887-d943d109abf6').catch(() => {})],
      [undefined, () => owner.listEvents(ALL)],
    ]
    for (const [, call] of calls) await call()
    // Calls that begin together run as one, and each event has its own level.
    await Promise.all([
      some.getOne('clients', anna, { redaction: 'PLAIN_TEXT' }),
      some.getOne('clients', bert, { redaction: 'PLAIN_TEXT' }),
    ])
    const levels = (await eventsOf(vault)).slice(before).map(({ level }) => level)
    expect(levels.slice(0, calls.length)).toEqual(calls.map(([level]) => level))
    expect(levels.slice(calls.length).sort()).toEqual(['PLAIN_TEXT', undefined])
  })
})

describe('a list', () => {
  it('has some resources of each event where so many are asked for, and the names of keys', async () => {
    const { vault, owner } = await open()
    const { keyId: keyID } = await createApiKey(owner, { name: 'support tool', roles: ['plain'] })
    const caller: Caller = { ...callerOf('plain'), actor: keyID, request: { authMode: 'API_KEY', keyID } }
    await vault.as(caller).get('clients')
    const { events, actors } = await owner.listEvents({ ...ALL, limit: 1, resources: 2 })
    expect(actors).toEqual({ [keyID]: 'support tool' })
    expect(events[0]?.request).toMatchObject({
      resourceCount: 4,
      resources: ['TABLE/clients', expect.stringMatching(/^RECORD\//)],
    })
    const { events: whole } = await owner.listEvents({ filterOps: { context: { actor: keyID } } })
    expect(whole[0]?.request.resources).toHaveLength(4)
    expect(whole[0]?.request).not.toHaveProperty('resourceCount')
    await expect(owner.listEvents({ ...ALL, resources: 1001 })).rejects.toMatchObject({ code: 'out_of_range' })
    // The last use of the key is that of its newest event.
    const listed = await owner.listCredentials({ lastUse: true })
    expect(listed).toEqual({ credentials: [expect.objectContaining({ keyId: keyID, lastUsedAt: expect.any(Number) })] })
    expect(Date.parse(whole[0]?.response.timestamp ?? '')).toBe(listed.credentials[0]?.lastUsedAt)
  })
})

describe('a count', () => {
  it('agrees with a list, bin by bin, also by a filter that reads all of an event', async () => {
    const { vault, owner, anna } = await open()
    await Promise.allSettled(
      Array.from({ length: 20 }, (_, at) =>
        at % 3 === 0 ? owner.get('clients') : vault.as(callerOf('nothing')).getOne('clients', anna),
      ),
    )
    const listed = (await owner.listEvents({ ...ALL, limit: 100 })).events
    const times = listed.map(({ response }) => Date.parse(response.timestamp))
    const from = new Date(Math.min(...times)).toISOString()
    const to = new Date(Math.max(...times) + 1).toISOString()
    for (const filter of [
      undefined,
      { actionType: 'GET' },
      { context: { actor: OWNER.actor } },
      { resourceIDs: `RECORD/${anna}` },
    ] as const) {
      const { bins, total } = await owner.perform('countEvents', { from, to, bins: 7, ...(filter !== undefined && { filter }) })
      const own = (await owner.listEvents({ filterOps: { ...filter, startTime: from, endTime: to }, limit: 100 })).events
      // The events of these lists and counts came later.
      const counted = own.filter(({ response }) => Date.parse(response.timestamp) <= Math.max(...times))
      expect(bins).toHaveLength(7)
      const sum = bins.reduce((all, { counts, refused }) => all + refused + Object.values(counts).reduce((a, b) => a + b, 0), 0)
      expect([sum, total]).toEqual([counted.length, counted.length])
      const refused = counted.filter(({ response }) => response.code >= 400)
      expect(bins.reduce((all, bin) => all + bin.refused, 0)).toBe(refused.length)
    }
    const before = (await eventsOf(vault)).length
    await owner.perform('countEvents', { from, to, bins: 200 })
    expect((await eventsOf(vault)).length).toBe(before + 1)
  })

  it('is refused without AUDIT, and for a range or bins that cannot be', async () => {
    const { vault, owner } = await open()
    const range = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z', bins: 1 }
    await expect(vault.as(callerOf('plain')).perform('countEvents', range)).rejects.toMatchObject({ code: 'forbidden' })
    const timed = { ...range, filter: { startTime: range.from } as object }
    await expect(owner.perform('countEvents', timed)).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(owner.perform('countEvents', { ...range, to: range.from })).rejects.toMatchObject({ code: 'invalid_request' })
    for (const bins of [0, 201, 1.5])
      await expect(owner.perform('countEvents', { ...range, bins })).rejects.toMatchObject({ code: 'out_of_range' })
  })
})
