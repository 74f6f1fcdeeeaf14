/** Operations by name: one event each, the verb in front of errors, statuses as documented, and checks of what arrives untyped. */
import { describe, expect, expectTypeOf, it } from 'vitest'
import type { OperationName, OperationResult } from '../../../src/index.ts'
import { callerOf, eventsBy, openClients } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

onEachStorage('session.perform', (engine) => {
  it('returns what the method of the same operation returns, with the same event', async () => {
    const vault = await openClients(engine.fresh().open())
    const owner = vault.as(OWNER)
    const records = [{ fields: { name: 'Ann', email: 'ann@acme.example' } }]
    let id = ''
    const { events } = await eventsBy(vault, async () => {
      const inserted = await owner.perform('insert', { table: 'clients', records })
      id = inserted.records[0]?.id ?? ''
    })
    expect(events).toMatchObject([{ action: 'INSERT', code: 200, table: 'clients' }])
    expect(await owner.perform('getOne', { table: 'clients', id })).toEqual(await owner.getOne('clients', id))
    expect(await owner.perform('query', { query: 'SELECT email FROM clients' })).toEqual({
      records: [{ fields: { email: 'ann@acme.example' }, levels: {} }],
      isCut: false,
    })
    expect(await owner.perform('delete', { table: 'clients', ids: ['*'] })).toEqual({ ids: ['*'] })
  })

  it('rejects a name that is no operation, inherited ones included, and records no event', async () => {
    const vault = await openClients(engine.fresh().open())
    for (const name of ['drop', 'constructor', '__proto__', 'toString']) {
      const { error, events } = await eventsBy(vault, async () => vault.as(OWNER).perform(name as OperationName, {} as never))
      expect(error).toMatchObject({ name: 'VaultError', code: 'invalid_request', message: expect.stringContaining('insert') })
      expect(events).toEqual([])
    }
  })

  it('rejects an input that is no object', async () => {
    const vault = await openClients(engine.fresh().open())
    for (const input of [null, undefined, 'clients', 5]) {
      await expect(vault.as(OWNER).perform('get', input as never)).rejects.toMatchObject({
        name: 'VaultError',
        code: 'invalid_request',
      })
    }
  })

  it('puts the verb of the operation before an error, and refuses malformed input before a missing grant', async () => {
    const vault = await openClients(engine.fresh().open())
    const clerk = vault.as(callerOf('ungranted'))
    await expect(clerk.get('clients', { limit: 0 })).rejects.toMatchObject({
      code: 'out_of_range',
      message: 'Get failed. limit must be an integer from 1 to 1000.',
    })
    await expect(clerk.get('clients')).rejects.toMatchObject({
      code: 'forbidden',
      message: expect.stringMatching(/^Get failed\. The user is not granted READ/),
    })
  })
})

describe('an unknown table', () => {
  it.each([
    ['get', { table: 'unknown' }, 404],
    ['delete', { table: 'unknown', ids: ['x'] }, 404],
    ['insert', { table: 'unknown', records: [{ fields: {} }] }, 400],
    ['query', { query: 'SELECT name FROM unknown' }, 400],
  ] as const)('is not_found for %s, with the status that the operation documents', async (name, input, httpStatus) => {
    const { memoryStorage } = await import('../../../src/adapters/memory/memory-storage.ts')
    const vault = await openClients(memoryStorage())
    const { error, events } = await eventsBy(vault, async () => vault.as(OWNER).perform(name, input as never))
    expect(error).toMatchObject({ code: 'not_found', httpStatus, grpcCode: 5 })
    expect(events).toMatchObject([{ code: httpStatus }])
    expect(events[0]?.message).toContain('Table *UNKNOWN* does not exist.')
  })
})

it('types follow the name of the operation', () => {
  expectTypeOf<OperationResult<'getOne'>>().toHaveProperty('id')
  expectTypeOf<OperationResult<'delete'>>().toEqualTypeOf<{ ids: string[] }>()
  expectTypeOf<OperationName>().toExtend<string>()
})

describe('delete', () => {
  it.each([
    ['no ids', {}],
    ['a star as text', { ids: '*' }],
    ['a star among ids', { ids: ['*', 'x'] }],
  ])('by name with %s deletes nothing', async (_what, rest) => {
    const { memoryStorage } = await import('../../../src/adapters/memory/memory-storage.ts')
    const owner = (await openClients(memoryStorage())).as(OWNER)
    await owner.insert('clients', [{ fields: { name: 'Ann' } }])
    await expect(owner.perform('delete', { table: 'clients', ...rest } as never)).rejects.toMatchObject({
      code: 'invalid_request',
    })
    expect((await owner.get('clients')).records).toHaveLength(1)
  })
})
