/** Errors thrown by a log, a span or a getter in the input do not change the outcome of an operation. No error of a port keeps its text. */
import { inspect } from 'node:util'
import { expect, it } from 'vitest'
import { systemEntropy } from '../../../src/adapters/system/system.ts'
import { type Entropy, isVaultError, type Log, type Tracing, VaultError } from '../../../src/index.ts'
import type { StorageHandle } from '../../../src/storage-port.ts'
import { eventsBy, eventsOf, openClients } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { faultyStorage } from '../../support/storages/faulty-storage.ts'
import { CLERK, OWNER } from '../../support/vaults/test-vault.ts'

const CANARY = 'Quetzalcoatl'

/** Counts its calls, and throws in each. */
function throwing() {
  let calls = 0
  const line = (): never => {
    calls++
    throw new Error(CANARY)
  }
  return { line, calls: () => calls }
}

function throwingLog() {
  const { line, calls } = throwing()
  const log: Log = { info: line, warn: line, error: line }
  return { log, calls }
}

function throwingSpans() {
  const { line, calls } = throwing()
  const tracing: Tracing = { startActiveSpan: (_name, _attributes, work) => work({ traceId: undefined, end: line }) }
  return { tracing, calls }
}

/** A vault with both, and one record. */
async function open(storage: StorageHandle) {
  const [{ log, calls: lines }, { tracing, calls: spans }] = [throwingLog(), throwingSpans()]
  const vault = await openClients(storage, { log, tracing })
  const { records } = await vault.as(OWNER).insert('clients', [{ fields: { name: 'Ann', country: 'SE' } }])
  return { vault, id: records[0]?.id ?? '', lines, spans }
}

onEachStorage('a port that throws', (engine) => {
  it('in the source of random bytes gives an error without its text, and stores nothing', async () => {
    const { line: bytes } = throwing()
    let source: Entropy = systemEntropy
    const entropy: Entropy = { bytes: (count) => source.bytes(count) }
    const vault = await openClients(engine.fresh().open(), { entropy })
    const owner = vault.as(OWNER)
    const calls = [
      () => owner.insert('clients', [{ fields: { name: 'Ann', country: 'SE' } }]),
      () => owner.get('clients'),
      () => owner.query('SELECT COUNT(*) FROM clients'),
      () => vault.transaction((inside) => inside.as(OWNER).get('clients')),
    ]
    for (const failing of [{ bytes }, { bytes: () => new Uint8Array(0) }]) {
      for (const call of calls) {
        source = failing
        const error: unknown = await call().catch((caught: unknown) => caught)
        source = systemEntropy
        expect(isVaultError(error)).toBe(true)
        expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(CANARY)
      }
    }
    expect((await owner.get('clients')).records).toEqual([])
  })

  it('in the end of a span changes no result and no error', async () => {
    const { vault, id, spans } = await open(engine.fresh().open())
    const owner = vault.as(OWNER)
    expect((await owner.getOne('clients', id)).fields.country).toBe('SE')
    expect((await owner.query('SELECT COUNT(*) FROM clients')).records[0]?.fields).toEqual({ 'count(*)': 1 })
    await owner.updateOne('clients', id, { country: 'DE' })
    await vault.transaction(async (inside) => void (await inside.as(OWNER).deleteOne('clients', id)))
    await expect(owner.getOne('clients', id)).rejects.toMatchObject({ code: 'not_found' })
    expect(spans()).toBe(6)
    expect((await eventsOf(vault)).map(({ code }) => code)).toEqual([200, 200, 200, 200, 200, 404])
  })

  it('in a log changes neither a refusal nor a failure', async () => {
    const faulty = faultyStorage(engine.fresh().open())
    const { vault, id, lines } = await open(faulty.storage)
    await expect(vault.as(CLERK).getOne('clients', id)).rejects.toMatchObject({ code: 'forbidden' })
    expect(lines()).toBe(1)
    const down = new VaultError('unavailable', 'The storage cannot be reached. Try again.')
    faulty.fail(({ method, table }) => (method === 'get' && table?.endsWith('clients') === true ? down : undefined))
    await expect(vault.as(OWNER).getOne('clients', id)).rejects.toMatchObject({ code: 'unavailable' })
    expect(lines()).toBe(2)
    faulty.fail(({ table }) => (table === 'audit_events' ? new Error(CANARY) : undefined))
    await expect(vault.as(OWNER).getOne('clients', id)).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringContaining('audit event could not be stored'),
    })
    faulty.mend()
    expect(lines()).toBe(3)
    expect((await eventsOf(vault)).map(({ code }) => code)).toEqual([200, 401, 500])
  })

  it('in a log does not change a listing that leaves out a broken event', async () => {
    const storage = engine.fresh().open()
    const { vault } = await open(storage)
    await vault.as(OWNER).get('clients')
    const [row] = await storage.find('audit_events', { kind: 'all' }, { order: 'asc', limit: 1 })
    await storage.update('audit_events', [{ id: row?.id ?? 0, version: row?.version ?? 0, set: { body: new Uint8Array(90) } }])
    const { events } = await vault.as(OWNER).listEvents({ filterOps: { accountID: 'v1' } })
    expect(events.map(({ request }) => request.actionType)).toEqual(['GET'])
  })

  it('in a log does not stop work in another chain after a broken head', async () => {
    const storage = engine.fresh().open()
    const { vault, id } = await open(storage)
    const [row] = await storage.find('audit_chains', { kind: 'all' }, { order: 'asc', limit: 1 })
    await storage.update('audit_chains', [{ id: row?.id ?? 0, version: row?.version ?? 0, set: { body: new Uint8Array(90) } }])
    expect((await vault.as(OWNER).getOne('clients', id)).id).toBe(id)
  })

  it('in a log does not change the error of a rolled-back transaction', async () => {
    const faulty = faultyStorage(engine.fresh().open())
    const { vault, id } = await open(faulty.storage)
    const reason = new Error('the application’s own')
    const failing = vault.transaction(async (inside) => {
      await inside.as(OWNER).getOne('clients', id)
      faulty.fail(({ table }) => (table === 'audit_events' ? new Error(CANARY) : undefined))
      throw reason
    })
    await expect(failing).rejects.toBe(reason)
    faulty.mend()
  })

  it('in a getter of a change gives one event and no change', async () => {
    const { vault, id } = await open(engine.fresh().open())
    const owner = vault.as(OWNER)
    const { line } = throwing()
    const lazy = (member: string, rest: object): object =>
      Object.defineProperty({ ...rest }, member, { enumerable: true, get: line })
    const changes = [
      [lazy('country', {})],
      [{ country: 'DE' }, lazy('tokens', {})],
      [{ country: 'DE' }, { tokens: lazy('name', {}) }],
    ] as const
    for (const [index, [fields, options]] of changes.entries()) {
      const { error, events } = await eventsBy(vault, () => owner.updateOne('clients', id, fields, options))
      expect(error, String(index)).toBeInstanceOf(Error)
      expect(events, String(index)).toMatchObject([{ action: 'UPDATE' }])
      expect(events[0]?.code, String(index)).toBeGreaterThanOrEqual(400)
      expect(JSON.stringify(events), String(index)).not.toContain(CANARY)
    }
    expect((await owner.getOne('clients', id)).fields.country).toBe('SE')
  })
})
