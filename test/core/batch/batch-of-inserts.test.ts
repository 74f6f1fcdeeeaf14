/** Batches of nothing but inserts of one kind, whose rows and event are handed to the storage together. */
import { expect, test } from 'vitest'
import { NOT_RUN, ROLLED_BACK } from '../../../src/core/audit/event.ts'
import { VaultError } from '../../../src/index.ts'
import { eventsOf, openClients } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { faultyStorage } from '../../support/storages/faulty-storage.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const post = (email: string) => ({ insert: 'clients', fields: { name: 'Ann', email } }) as const
const addresses = (count: number) => Array.from({ length: count }, (_, index) => `p${index}@acme.example`)

onEachStorage('a batch of inserts', (engine) => {
  test('commits rows and event in one call of the storage, and has one event with each item', async () => {
    const faulty = faultyStorage(engine.fresh().open())
    const vault = await openClients(faulty.storage)
    const session = vault.as(OWNER)
    // The first event begins a chain, and the first change looks at the catalog, in a transaction.
    await session.batch([post('first@acme.example')])
    await session.batch([post('second@acme.example')])
    const methods: string[] = []
    faulty.fail(({ method }) => {
      methods.push(method)
      return undefined
    })
    const { responses } = await session.batch(addresses(100).map(post))
    faulty.mend()
    expect(methods.filter((method) => method === 'begin')).toHaveLength(1)
    // The head of the chain is known, and is neither locked nor read.
    expect(methods).not.toContain('lock id')
    const ids = responses.map(({ value }) => value.id)
    expect((await session.get('clients', { ids, redaction: 'PLAIN_TEXT' })).records.map(({ fields }) => fields.email)).toEqual(
      addresses(100),
    )
    const [, , event] = await eventsOf(vault)
    expect(event?.nested).toMatchObject([{ code: 200, items: 100, rows: { table: 'clients' } }])
    expect(event?.nested?.[0]?.rows?.runs.reduce((sum, [, count]) => sum + count, 0)).toBe(100)
    expect((await vault.verifyAudit()).eventCount).toBe(4)
  })

  test('of which one is refused names it, and stores all or the others', async () => {
    const vault = await openClients(engine.fresh().open())
    const session = vault.as(OWNER)
    await session.insert('clients', [{ fields: { name: 'Ann', email: 'p5@acme.example' } }])
    const items = addresses(9).map(post)
    await expect(session.batch(items)).rejects.toMatchObject({ code: 'conflict', details: [{ index: 5 }] })
    expect((await session.get('clients')).records).toHaveLength(1)
    const { responses } = await session.batch(items, { continueOnError: true })
    expect(responses.map(({ ok }) => ok)).toEqual(items.map((_, index) => index !== 5))
    expect((await session.get('clients')).records).toHaveLength(9)
    const [, failed, , stored] = await eventsOf(vault)
    expect(failed?.nested?.map(({ code, items = 1 }) => [code, items])).toMatchObject([
      [expect.any(Number), 5],
      [422, 1],
      [expect.any(Number), 3],
    ])
    expect(stored?.nested?.map(({ code, items = 1 }) => [code, items])).toEqual([
      [200, 5],
      [422, 1],
      [200, 3],
    ])
    await expect(session.batch([post('p0@acme.example')])).rejects.toMatchObject({ code: 'conflict', details: [{ index: 0 }] })
    expect((await vault.verifyAudit()).ok).toBe(true)
  })

  test('whose commit fails is no success, and its event says what may be stored', async () => {
    const faulty = faultyStorage(engine.fresh().open())
    const vault = await openClients(faulty.storage)
    const session = vault.as(OWNER)
    await session.batch([post('first@acme.example')])
    let isDown = true
    faulty.fail(({ method }) => {
      if (method !== 'commit' || !isDown) return undefined
      // The event of the failure finds the storage mended.
      isDown = false
      return new VaultError('unavailable', 'The storage is gone.')
    })
    await expect(session.batch(addresses(3).map(post))).rejects.toMatchObject({ code: 'unavailable' })
    faulty.mend()
    expect((await session.get('clients')).records).toHaveLength(1)
    const [, failed] = await eventsOf(vault)
    expect(failed?.nested).toHaveLength(1)
    expect(failed?.nested?.[0]).toMatchObject({ items: 3 })
    expect(failed?.nested?.[0]?.code).not.toBe(200)
  })

  test('whose event cannot be stored is rolled back, and its event names the rows that were', async () => {
    const faulty = faultyStorage(engine.fresh().open())
    const vault = await openClients(faulty.storage)
    const session = vault.as(OWNER)
    await session.batch([post('first@acme.example')])
    let isFull = true
    faulty.fail(({ method, table }) => {
      if (method !== 'insert' || table !== 'audit_events' || !isFull) return undefined
      isFull = false
      return new VaultError('storage_full', 'The disk is full.')
    })
    await expect(session.batch(addresses(3).map(post))).rejects.toMatchObject({ code: 'storage_full' })
    faulty.mend()
    expect((await session.get('clients')).records).toHaveLength(1)
    const [, failed] = await eventsOf(vault)
    const rows = { table: 'clients', runs: [[expect.any(Number), 3]] }
    expect(failed?.nested).toMatchObject([{ message: ROLLED_BACK.message, items: 3, rows }])
  })

  test('fails on a read that comes before its rows without having run', async () => {
    const faulty = faultyStorage(engine.fresh().open())
    const vault = await openClients(faulty.storage)
    let isDown = true
    faulty.fail(({ method }) => {
      if (method !== 'reserveIds' || !isDown) return undefined
      isDown = false
      return new VaultError('unavailable', 'The storage is gone.')
    })
    await expect(vault.as(OWNER).batch(addresses(3).map(post))).rejects.toMatchObject({ code: 'unavailable' })
    faulty.mend()
    const [failed] = await eventsOf(vault)
    expect(failed?.nested?.[0]).toMatchObject({ items: 3, message: NOT_RUN.message })
  })

  test('rolls back with the transaction around it', async () => {
    const vault = await openClients(engine.fresh().open())
    const work = vault.transaction(async (inside) => {
      const session = inside.as(OWNER)
      await session.batch(addresses(3).map(post))
      await expect(session.batch(addresses(2).map(post))).rejects.toMatchObject({ code: 'conflict', details: [{ index: 0 }] })
      expect((await session.get('clients')).records).toHaveLength(3)
      throw new Error('no')
    })
    await expect(work).rejects.toThrow('no')
    expect((await vault.as(OWNER).get('clients')).records).toEqual([])
  })
})
