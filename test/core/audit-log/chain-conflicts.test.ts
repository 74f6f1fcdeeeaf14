/** Chains that were tampered with are not used further: the vault continues in another chain, logs it, and verification reports it. */
import { describe, expect, it } from 'vitest'
import { systemScheduler } from '../../../src/adapters/system/system.ts'
import { MAX_CHAINS } from '../../../src/core/limits.ts'
import { MAX_ROW_ID } from '../../../src/core/ports/storage.ts'
import { AUDIT_CHAINS } from '../../../src/core/schema/system-tables.ts'
import { column, type Log, type Vault } from '../../../src/index.ts'
import type { Row, StorageHandle } from '../../../src/storage-port.ts'
import { type Clients, eventsBy, openClients } from '../../support/audit/audited-clients.ts'
import { onEachStorage, postgresEngine } from '../../support/storages/engines.ts'
import { faultyStorage } from '../../support/storages/faulty-storage.ts'
import { interposedStorage } from '../../support/storages/interposed-storage.ts'
import { asLoose, openLoose } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const EVENTS = 'audit_events'
const HEADS = 'audit_chains'
const LATE = { ...OWNER, actor: 'late@acme.example' }
const GETS = 20

async function lastOf(storage: StorageHandle, table: string): Promise<Row> {
  const [row] = await storage.find(table, { kind: 'all' }, { order: 'desc', limit: 1 })
  if (row === undefined) throw new Error(`table ${table} is empty`)
  return row
}

/** What is done to the only chain, and whether its head detects it at the next append. */
interface Tampering {
  readonly isLogged: boolean
  /** The chain that verification reports, if it is another. */
  readonly reported?: number
  tamper(storage: StorageHandle): Promise<unknown>
}

function movedTo(reported: number): Tampering {
  return {
    isLogged: false,
    reported,
    async tamper(storage) {
      const { id, body = null } = await lastOf(storage, HEADS)
      await storage.delete(HEADS, { ids: [id] })
      await storage.insert(HEADS, [{ id: reported, body }])
    },
  }
}

const TAMPERINGS = {
  'a head with a flipped bit': {
    isLogged: true,
    async tamper(storage) {
      const { id, version, body } = await lastOf(storage, HEADS)
      const bytes = body instanceof Uint8Array ? body : new Uint8Array(1)
      const flipped = bytes.map((byte, at) => (at === bytes.length >> 1 ? byte ^ 1 : byte))
      await storage.update(HEADS, [{ id, version, set: { body: flipped } }])
    },
  },
  'a head with a flipped bit and the same version': {
    isLogged: true,
    async tamper(storage) {
      const { id, version, body } = await lastOf(storage, HEADS)
      const bytes = body instanceof Uint8Array ? body : new Uint8Array(1)
      const flipped = bytes.map((byte, at) => (at === 40 ? byte ^ 1 : byte))
      await storage.delete(HEADS, { ids: [id] })
      await storage.insert(HEADS, [{ id, version, body: flipped }])
    },
  },
  'a head that is deleted': {
    isLogged: false,
    tamper: async (storage) => storage.delete(HEADS, { ids: [(await lastOf(storage, HEADS)).id] }),
  },
  'a head that is moved to the highest number of a chain': movedTo(MAX_CHAINS),
  'a head that is moved to a number above those of chains': movedTo(MAX_CHAINS + 1),
  'a head that is moved to the highest row id': movedTo(MAX_ROW_ID),
  'invalid bytes at the position of the next event': {
    isLogged: false,
    async tamper(storage) {
      const { id, at = null } = await lastOf(storage, EVENTS)
      await storage.insert(EVENTS, [{ id: id + 1, at, body: new Uint8Array(90) }])
    },
  },
} as const satisfies Readonly<Record<string, Tampering>>

/** Makes one call of most verbs, some in a transaction and some concurrently. Returns their number. */
async function goOn(vault: Vault<Clients>): Promise<number> {
  const session = vault.as(LATE)
  const { records } = await session.insert('clients', [{ fields: { name: 'New' } }])
  const id = records[0]?.id ?? ''
  await session.updateOne('clients', id, { country: 'SE' })
  await session.query('SELECT name FROM clients')
  const memos = await vault.transaction(async (inside) => {
    await inside.as(LATE).insert('orders', [{ fields: { memo: 'one' } }])
    await inside.as(LATE).insert('orders', [{ fields: { memo: 'two' } }])
    return inside.as(LATE).get('orders', { redaction: 'PLAIN_TEXT' })
  })
  expect(memos.records.map(({ fields }) => fields.memo)).toEqual(['one', 'two'])
  await Promise.all(Array.from({ length: GETS }, () => session.getOne('clients', id)))
  await session.deleteOne('clients', id)
  await session.delete('orders', '*')
  return 8 + GETS
}

async function countOfLate(vault: Vault<Clients>): Promise<number> {
  const { events } = await vault.as(OWNER).listEvents({
    filterOps: { accountID: 'v1', context: { actor: LATE.actor } },
    limit: 100,
  })
  return events.length
}

onEachStorage('a chain with', (engine) => {
  for (const [what, { tamper, isLogged, reported }] of Object.entries<Tampering>(TAMPERINGS)) {
    it(`${what} is not used further: every operation records its one event in another chain`, async () => {
      const errors: (readonly [object, string])[] = []
      const log: Log = { info() {}, warn() {}, error: (fields, message) => void errors.push([fields, message]) }
      const storage = engine.fresh().open()
      const vault = await openClients(storage, { log })
      for (const name of ['a', 'b', 'c']) await vault.as(OWNER).insert('clients', [{ fields: { name } }])
      const { id: chain } = await lastOf(storage, HEADS)
      expect(await vault.verifyAudit()).toMatchObject({ ok: true, eventCount: 3 })
      await tamper(storage)
      const done = await goOn(vault)
      expect(errors).toEqual(isLogged ? [[{ chain }, 'audit chain head failed authentication; continuing in another chain']] : [])
      expect(await countOfLate(vault)).toBe(done)
      expect(await vault.verifyAudit()).toMatchObject({ ok: false, firstFailure: { chain: reported ?? chain } })
    })

    it(`${what} is not used by a vault opened later`, async () => {
      const storage = engine.fresh().open()
      await (await openClients(storage)).as(OWNER).insert('clients', [{ fields: { name: 'a' } }])
      await tamper(storage)
      const vault = await openClients(storage)
      expect(await goOn(vault)).toBe(await countOfLate(vault))
      expect(await vault.verifyAudit()).toMatchObject({ ok: false })
    })
  }
})

describe('a head that is changed while a transaction appends to its chain', () => {
  const engine = postgresEngine()

  // Other engines have one writer, so nothing can be changed between two statements of a transaction.
  for (const what of ['a head with a flipped bit', 'a head with a flipped bit and the same version'] as const) {
    it(`${what} is not overwritten, and verification reports it`, async () => {
      const place = engine.fresh()
      const { storage, interpose } = interposedStorage(place.open())
      const vault = await openClients(storage)
      const { records } = await vault.as(OWNER).insert('clients', [{ fields: { name: 'a' } }])
      const { id: chain } = await lastOf(storage, HEADS)
      const other = place.open()
      await other.prepare([AUDIT_CHAINS])
      const isDone = interpose({
        isDue: ({ method, table }) => method === 'update' && table === HEADS,
        work: async () => void (await TAMPERINGS[what].tamper(other)),
      })
      await vault.as(LATE).updateOne('clients', records[0]?.id ?? '', { country: 'SE' })
      expect(isDone()).toBe(true)
      expect(await countOfLate(vault)).toBe(1)
      expect(await vault.verifyAudit()).toMatchObject({ ok: false, firstFailure: { chain } })
    })
  }
})

onEachStorage('the head of a chain that this process moved last', (engine) => {
  it('is not read again for a read, nor for an insert', async () => {
    const calls: string[] = []
    const faulty = faultyStorage(engine.fresh().open())
    const session = (await openClients(faulty.storage)).as(OWNER)
    const insert = async (): Promise<string> => {
      const { records } = await session.insert('clients', [{ fields: { name: 'a' } }])
      return records[0]?.id ?? ''
    }
    const id = await insert()
    await insert()
    faulty.fail(({ method, table = '' }) => void calls.push(`${method} ${table}`.trim()))
    await session.getOne('clients', id)
    const [table] = calls.splice(0, 1)
    const appended = ['update audit_chains', 'insert audit_events', 'commit', 'committed']
    expect([table, ...calls.splice(0)]).toEqual([expect.stringMatching(/^get records_.*clients$/), 'begin', ...appended])
    await insert()
    expect(calls.filter((call) => !call.startsWith('reserveIds'))).toEqual([
      'begin',
      appended[0],
      expect.stringMatching(/^insert records_.*clients$/),
      ...appended.slice(1),
    ])
  })

  it('counts before it is stored: lists of events that wait for each other share the chain without reading it', async () => {
    const heads: string[] = []
    const faulty = faultyStorage(engine.fresh().open())
    const vault = await openClients(faulty.storage)
    const session = vault.as(OWNER)
    const insert = (): Promise<unknown> => session.insert('clients', [{ fields: { name: 'a' } }])
    await insert()
    await insert()
    faulty.fail(({ method, table }) => {
      if (method === 'get' && table === 'audit_chains') heads.push(method)
      return undefined
    })
    const lists: Promise<unknown>[] = []
    for (let list = 0; list < 20; list++) {
      lists.push(insert(), session.query('SELECT name FROM clients'))
      await systemScheduler.yield()
    }
    await Promise.all(lists)
    // Where each transaction has a chain of its own, new chains are read once or twice.
    if (faulty.storage.transactions === 'serial') expect(heads).toEqual([])
    expect(await vault.verifyAudit()).toEqual({ ok: true, eventCount: 42 })
  })

  it('is not taken for stored after a change that failed', async () => {
    const vault = await openClients(engine.fresh().open())
    const session = vault.as(OWNER)
    const insert = (email: string): Promise<unknown> => session.insert('clients', [{ fields: { name: 'a', email } }])
    await insert('ann@acme.example')
    const lists: Promise<unknown>[] = []
    for (let list = 0; list < 10; list++) {
      lists.push(insert(list % 3 === 0 ? 'ann@acme.example' : `${list}@acme.example`).catch(() => {}))
      if (list % 2 === 0) await systemScheduler.yield()
    }
    await Promise.all(lists)
    expect((await session.get('clients')).records).toHaveLength(7)
    expect(await vault.verifyAudit()).toEqual({ ok: true, eventCount: 12 })
  })

  it('is read again after another process moved it, and the chain goes on', async () => {
    const place = engine.fresh()
    const [one, other] = [await openClients(place.open()), await openClients(place.open())]
    const storage = place.open()
    for (let turn = 0; turn < 5; turn++) {
      await one.as(OWNER).insert('clients', [{ fields: { name: 'one' } }])
      await other.as(OWNER).insert('clients', [{ fields: { name: 'other' } }])
    }
    expect(await one.verifyAudit()).toEqual({ ok: true, eventCount: 10 })
    await storage.prepare([AUDIT_CHAINS])
    const heads = await storage.find(HEADS, { kind: 'all' }, { order: 'asc', limit: 10 })
    expect(heads.length).toBe(storage.transactions === 'serial' ? 1 : 2)
  })
})

onEachStorage('a chain head with the highest version', (engine) => {
  it('is not moved: every operation records its event in another chain', async () => {
    const storage = engine.fresh().open()
    const vault = await openClients(storage)
    await vault.as(OWNER).insert('clients', [{ fields: { name: 'a' } }])
    const { id, body = null } = await lastOf(storage, HEADS)
    await storage.delete(HEADS, { ids: [id] })
    await storage.insert(HEADS, [{ id, body, version: 2n ** 63n - 1n }])
    expect(await goOn(vault)).toBe(await countOfLate(vault))
    expect(await vault.verifyAudit()).toMatchObject({ ok: true })
  })
})

onEachStorage('user tables with the names of audit tables', (engine) => {
  it.each([EVENTS, HEADS])('%s: a duplicate value in a transaction throws one conflict and records one event', async (table) => {
    const { vault, session } = await openLoose(engine.fresh().open(), { [table]: { email: column.string({ unique: true }) } })
    const taken = [{ fields: { email: 'ann@acme.example' } }]
    await session.insert(table, taken)
    let runs = 0
    const failing = (): Promise<unknown> =>
      vault.transaction(async (inside) => {
        runs++
        const within = asLoose(inside.as(OWNER))
        await within.insert(table, [{ fields: { email: 'bo@acme.example' } }])
        return within.insert(table, taken)
      })
    const { error, events } = await eventsBy(vault, failing)
    expect(error).toMatchObject({ code: 'conflict', details: [{ table, column: 'email' }] })
    expect(runs).toBe(1)
    expect(events.map(({ action, code }) => [action, code])).toEqual([
      ['INSERT', 500],
      ['INSERT', 422],
    ])
    expect(events[0]?.message).toContain('Rolled back')
    const alone = await eventsBy(vault, () => session.insert(table, taken))
    expect(alone.error).toMatchObject({ code: 'conflict' })
    expect(alone.events.map(({ code }) => code)).toEqual([422])
    expect(await vault.verifyAudit()).toEqual({ ok: true, eventCount: 4 })
  })

  it.each([EVENTS, HEADS])('%s: a caught conflict rolls back only its own insert', async (table) => {
    const { vault, session } = await openLoose(engine.fresh().open(), { [table]: { email: column.string({ unique: true }) } })
    const taken = [{ fields: { email: 'ann@acme.example' } }]
    await session.insert(table, taken)
    const { events } = await eventsBy(vault, () =>
      vault.transaction(async (inside) => {
        const within = asLoose(inside.as(OWNER))
        await expect(within.insert(table, taken)).rejects.toMatchObject({ code: 'conflict' })
        await within.insert(table, [{ fields: { email: 'bo@acme.example' } }])
      }),
    )
    expect(events.map(({ code }) => code)).toEqual([422, 200])
    expect((await session.get(table)).records).toHaveLength(2)
  })
})
