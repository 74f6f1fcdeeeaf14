/** Reads of one record that are stored with their event in one call of the storage, and what happens where that is not possible. */
import { describe, expect, it } from 'vitest'
import { VaultError } from '../../../src/core/errors.ts'
import type { Changes, Row, StorageHandle } from '../../../src/core/ports/storage.ts'
import type { PolicyFor, Vault } from '../../../src/index.ts'
import { type ClientSession, type Clients, callerOf, eventsBy, openClients, PEOPLE } from '../../support/audit/audited-clients.ts'
import { postgresEngine } from '../../support/storages/engines.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const RECORDS = 'records_1_clients'

const POLICY: PolicyFor<Clients> = {
  swedes: ["ALLOW READ ON clients.* WITH REDACTION = PLAIN_TEXT WHERE clients.country = 'SE'"],
  names: ['ALLOW READ ON clients.name WITH REDACTION = MASKED'],
  memos: ['ALLOW READ ON orders.* WITH REDACTION = PLAIN_TEXT'],
}

type Committing = ReturnType<StorageHandle['commit']>
/** Runs in place of the call, which it can make. */
type Around = (call: () => Committing, changes: Changes) => Committing

interface Opened {
  readonly vault: Vault<Clients>
  readonly session: ClientSession
  readonly storage: StorageHandle
  /** The names of the calls of the storage since the last look. */
  calls(): readonly string[]
  around(around: Around): void
  readonly ids: readonly [string, string, string]
}

/** Opens a vault with three records, and has read one of them, so that the head of its chain is known. */
async function open(sound: StorageHandle): Promise<Opened> {
  let calls: string[] = []
  let wrapped: Around = (call) => call()
  const storage: StorageHandle = {
    ...sound,
    get: (table, ids) => {
      if (table === RECORDS) calls.push('get')
      return sound.get(table, ids)
    },
    commit: (changes, options) => {
      const reads = options?.read !== undefined
      calls.push(reads ? 'read and commit' : 'commit')
      return reads ? wrapped(() => sound.commit(changes, options), changes) : sound.commit(changes, options)
    },
  }
  const vault = await openClients(storage, { policy: POLICY })
  const session = vault.as(OWNER)
  const { records } = await session.insert(
    'clients',
    PEOPLE.map((fields) => ({ fields })),
  )
  const [first, second, third] = records.map(({ id }) => id)
  if (first === undefined || second === undefined || third === undefined) throw new Error('three records were inserted')
  await session.getOne('clients', first)
  calls = []
  return {
    ...{ vault, session, storage: sound, ids: [first, second, third] },
    calls() {
      const made = calls
      calls = []
      return made
    },
    around(around) {
      wrapped = around
    },
  }
}

async function firstRow(storage: StorageHandle): Promise<Row> {
  const [row] = await storage.find(RECORDS, { kind: 'all' }, { order: 'asc', limit: 1 })
  if (row === undefined) throw new Error('no rows')
  return row
}

describe('a read of one record', () => {
  const engine = postgresEngine()

  it('is one call of the storage, with the event that a read of its own would have', async () => {
    const { session, vault, ids, calls } = await open(engine.fresh().open())
    const [id] = ids
    const one = await eventsBy(vault, () => session.getOne('clients', id, { redaction: 'PLAIN_TEXT' }))
    expect(calls()).toEqual(['read and commit'])
    expect(one.answer).toMatchObject({ id, fields: PEOPLE[0] })
    const listed = await eventsBy(vault, () => session.get('clients', { ids: [id], redaction: 'PLAIN_TEXT' }))
    expect(calls()).toEqual(['read and commit'])
    expect(listed.answer).toEqual({ records: [one.answer] })
    const slow = await eventsBy(vault, () => session.getOne('clients', id, { redaction: 'PLAIN_TEXT', onLowered: 'throw' }))
    expect(calls()).toEqual(['get', 'commit'])
    for (const { events } of [one, listed, slow]) {
      expect(events).toMatchObject([{ action: 'GET', code: 200, table: 'clients', rows: [{ table: 'clients', runs: [[1, 1]] }] }])
    }
    expect(await vault.verifyAudit()).toMatchObject({ ok: true })
  })

  it('has one event, of a failure, if there is no record, none that the caller sees, or no grant', async () => {
    const { session, vault, ids, calls } = await open(engine.fresh().open())
    await session.deleteOne('clients', ids[0])
    calls()
    const deleted = await eventsBy(vault, () => session.getOne('clients', ids[0]))
    expect(calls()).toEqual(['read and commit', 'commit'])
    const hidden = await eventsBy(vault, () => vault.as(callerOf('swedes')).getOne('clients', ids[1]))
    expect(calls()).toEqual(['get', 'commit'])
    const refused = await eventsBy(vault, () => vault.as(callerOf('memos')).getOne('clients', ids[1]))
    const malformed = await eventsBy(vault, () => session.getOne('clients', 'no id'))
    expect(calls()).toEqual(['commit', 'get', 'commit'])
    for (const { events, error } of [deleted, hidden, refused, malformed]) {
      expect(error).toMatchObject({ code: events[0]?.code === 401 ? 'forbidden' : 'not_found' })
      expect(events).toHaveLength(1)
      expect(events[0]?.rows).toBeUndefined()
    }
    expect([deleted, hidden, refused, malformed].map(({ events }) => events[0]?.code)).toEqual([404, 404, 401, 404])
  })

  it('is read first where the row decides, and for a token, whose value must be seen', async () => {
    const { session, vault, ids, calls } = await open(engine.fresh().open())
    await vault.as(callerOf('swedes')).getOne('clients', ids[0])
    expect(calls()).toEqual(['get', 'commit'])
    await vault.as(callerOf('names')).getOne('clients', ids[0])
    expect(calls()).toEqual(['read and commit'])
    const { tokens = {} } = await session.getOne('clients', ids[0], { tokenization: true })
    expect(calls()).toEqual(['read and commit'])
    await session.detokenize([{ token: tokens.name ?? '' }])
    await session.getOne('clients', ids[0], { returnFileMetadata: true })
    await session.get('clients', { ids: [ids[0], ids[1]] })
    await session.get('clients', { ids: [ids[0]], offset: 1 })
    expect(calls().filter((call) => call !== 'find')).toEqual(Array(4).fill(['get', 'commit']).flat())
    await vault.transaction((inner) => inner.as(OWNER).getOne('clients', ids[0]))
    expect(calls()).toEqual([])
  })

  it('is joined with others where several callers come together', async () => {
    const { session, vault, ids, calls } = await open(engine.fresh().open())
    const all = Array.from({ length: 20 }, (_, index) => ids[index % 3] ?? '')
    const { events } = await eventsBy(vault, () => Promise.all(all.map((id) => session.getOne('clients', id))))
    expect(events).toHaveLength(20)
    expect(calls().filter((call) => call === 'read and commit').length).toBeLessThanOrEqual(1)
  })

  it('that fails authentication has the event of the read, and one of the failure with the same request', async () => {
    const { session, vault, storage, ids, calls } = await open(engine.fresh().open())
    const row = await firstRow(storage)
    await storage.update(RECORDS, [{ id: row.id, version: row.version, set: { body: new Uint8Array(64) } }])
    const { error, events } = await eventsBy(vault, () => session.getOne('clients', ids[0]))
    expect(calls()).toEqual(['read and commit', 'commit'])
    expect(error).toMatchObject({ code: 'data_loss', details: [{ id: ids[0] }] })
    expect(events.map(({ code }) => code)).toEqual([200, 500])
    expect(new Set(events.map(({ context }) => context.requestID)).size).toBe(1)
    expect(await vault.verifyAudit()).toMatchObject({ ok: true })
  })

  it('is recorded after the read if the head of the chain was changed in the database', async () => {
    const { session, vault, storage, ids, calls } = await open(engine.fresh().open())
    const heads = await storage.find('audit_chains', { kind: 'all' }, { order: 'asc', limit: 100 })
    const moved = heads.map(({ id, version, body = null }) => ({ id, version, set: { body } }))
    await storage.update('audit_chains', moved)
    const { answer, events } = await eventsBy(vault, () => session.getOne('clients', ids[0], { redaction: 'PLAIN_TEXT' }))
    expect(answer).toMatchObject({ fields: PEOPLE[0] })
    expect(events).toMatchObject([{ code: 200 }])
    expect(calls().slice(0, 2)).toEqual(['read and commit', 'get'])
  })

  it('has its result and one event if the connection is lost after the commit, and no result if it is lost before', async () => {
    const { session, vault, ids, around } = await open(engine.fresh().open())
    const lost = new VaultError('outcome_unknown', 'The connection was lost.')
    around(async (call) => {
      await call()
      throw lost
    })
    const after = await eventsBy(vault, () => session.getOne('clients', ids[0], { redaction: 'PLAIN_TEXT' }))
    expect(after.answer).toMatchObject({ fields: PEOPLE[0] })
    expect(after.events).toMatchObject([{ code: 200 }])
    around(async () => {
      throw lost
    })
    await session.getOne('clients', ids[1]).catch(() => {})
    const before = await eventsBy(vault, () => session.getOne('clients', ids[0]))
    around((call) => call())
    expect(before.answer).toBeUndefined()
    const again = await eventsBy(vault, () => session.getOne('clients', ids[0]))
    expect(again.events).toMatchObject([{ code: 200 }])
    expect(await vault.verifyAudit()).toMatchObject({ ok: true })
  })

  it('has the event of the read and one of its failure if the connection is lost after the commit and the record cannot be read again', async () => {
    const { session, vault, storage, ids, around } = await open(engine.fresh().open())
    const row = await firstRow(storage)
    around(async (call) => {
      await call()
      await storage.delete(RECORDS, { ids: [row.id] })
      throw new VaultError('outcome_unknown', 'The connection was lost.')
    })
    const { error, events } = await eventsBy(vault, () => session.getOne('clients', ids[0]))
    expect(error).toMatchObject({ code: 'not_found' })
    expect(events.map(({ code }) => code)).toEqual([200, 404])
    expect(new Set(events.map(({ context }) => context.requestID)).size).toBe(1)
    expect(await vault.verifyAudit()).toMatchObject({ ok: true })
  })

  it('is not returned without an event if the call fails in any way', async () => {
    const { session, vault, ids, around } = await open(engine.fresh().open())
    for (const code of ['unavailable', 'storage_full', 'aborted', 'internal', 'conflict'] as const) {
      around(async () => {
        throw new VaultError(code, 'The storage failed.')
      })
      const { answer, events } = await eventsBy(vault, () => session.getOne('clients', ids[0]))
      expect(events).toHaveLength(1)
      expect(events[0]?.code).toBe(answer === undefined ? 500 : 200)
    }
  })
})
