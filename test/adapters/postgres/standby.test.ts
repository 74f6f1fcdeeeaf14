/** A standby that is opened by mistake, and one that takes over while vaults are open: errors, transactions, ids, and what was acknowledged. */
import { generateKeyPairSync } from 'node:crypto'
import pg from 'pg'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { localSigner } from '../../../src/adapters/keys/index.ts'
import { postgresStorage } from '../../../src/adapters/postgres/index.ts'
import type { PhysicalTable, StorageHandle } from '../../../src/core/ports/storage.ts'
import { eventsOf } from '../../support/audit/audited-clients.ts'
import { type FaultyProxy, startFaultyProxy } from '../../support/postgres/faulty-proxy.ts'
import { queryServer } from '../../support/postgres/query-server.ts'
import { type PostgresServer, startPostgres } from '../../support/postgres/server.ts'
import { caughtUp, promote, STANDBY } from '../../support/postgres/standby.ts'
import { OWNER, openPeople } from '../../support/vaults/test-vault.ts'

const NOTES: PhysicalTable = { name: 'notes', columns: [{ name: 'title', type: 'text' }], indexes: [] }
const REFUSED = { code: 'unavailable', message: expect.stringContaining('accepts no writes, as a standby does') }

const WAITING = "select count(*) as waiting from pg_stat_activity where wait_event = 'SyncRep'"

const endings: (() => Promise<unknown>)[] = []
/** Between the vaults and whichever server is the primary. */
let entrance: FaultyProxy
/** Between the primary and its standby. */
let link: FaultyProxy
let primary: PostgresServer
let standby: PostgresServer
beforeEach(async () => {
  primary = await startPostgres({ durable: true, settings: ['wal_writer_delay=10s', 'autovacuum=off'] })
  endings.push(() => primary.stop())
  entrance = await startFaultyProxy(primary.url)
  endings.push(() => entrance.stop())
  link = await startFaultyProxy(primary.url)
  endings.push(() => link.stop())
  standby = await startPostgres({ durable: true, standbyOf: { ...primary, url: link.url } })
  endings.push(() => standby.stop())
})
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

function open(connectionString = entrance.url): StorageHandle {
  const storage = postgresStorage({ connectionString, timeouts: { closeMs: 1000 } })
  endings.push(() => storage.close())
  return storage
}

/** From now on a commit waits until the standby has it on its disk. */
async function makeSynchronous(): Promise<void> {
  await queryServer(primary.url, `alter system set synchronous_standby_names = '${STANDBY}'`)
  await queryServer(primary.url, 'select pg_reload_conf()')
  await expect
    .poll(() => queryServer(primary.url, 'show synchronous_standby_names'))
    .toEqual([{ synchronous_standby_names: STANDBY }])
}

/** Crashes the primary, and makes the standby the primary, without what has not reached it. */
async function failOver(): Promise<void> {
  await primary.stop()
  await link.stop()
  await promote(standby)
  entrance.redirect(standby.url)
}

const ada = [{ fields: { name: 'Ada' } }]

it('a standby is no place for a new vault, refuses each call of one that exists, and can be verified', async () => {
  await expect(openPeople(open(standby.url))).rejects.toMatchObject({ ...REFUSED, code: 'failed_precondition' })
  await (await openPeople(open())).as(OWNER).insert('people', ada)
  await caughtUp(primary, standby)
  const pool = new pg.Pool({ connectionString: standby.url })
  endings.push(() => pool.end())
  for (const storage of [open(standby.url), postgresStorage({ pool })]) {
    const vault = await openPeople(storage)
    const session = vault.as(OWNER)
    const calls: (() => Promise<unknown>)[] = [
      () => session.insert('people', ada),
      () => session.get('people'),
      () => session.query('SELECT name FROM people'),
      () => vault.transaction((inner) => inner.as(OWNER).insert('people', ada)),
    ]
    for (const call of calls) await expect(call()).rejects.toMatchObject(REFUSED)
    expect(await vault.verifyAudit()).toMatchObject({ ok: true, eventCount: 1 })
    expect(await vault.verifyRecords()).toMatchObject({ ok: true, recordCount: 1 })
  }
})

it('a standby that takes over stores nothing of transactions that began before', async () => {
  const before = open()
  await before.prepare([NOTES])
  await before.insert('notes', [{ id: 1, title: 'before' }])
  await caughtUp(primary, standby)
  const pool = new pg.Pool({ connectionString: standby.url })
  endings.push(() => pool.end())
  const storages = [open(standby.url), postgresStorage({ pool })]
  for (const storage of storages) await storage.prepare([NOTES])
  const takeover = Promise.withResolvers<void>()
  const begun = storages.map((storage, number) => {
    const isRead = Promise.withResolvers<void>()
    const work = storage.transaction(async (inner) => {
      await inner.get('notes', [1]).catch(() => {})
      isRead.resolve()
      await takeover.promise
      await inner.insert('notes', [{ id: 2 + number, title: 'in no transaction' }])
    })
    return { isRead: isRead.promise, refused: expect(work).rejects.toMatchObject(REFUSED) }
  })
  for (const { isRead } of begun) await isRead
  await failOver()
  takeover.resolve()
  for (const { refused } of begun) await refused
  for (const storage of storages) {
    expect(await storage.get('notes', [1, 2, 3])).toMatchObject([{ id: 1 }, undefined, undefined])
  }
  for (const [number, storage] of storages.entries()) {
    await storage.transaction((inner) => inner.insert('notes', [{ id: 2 + number, title: 'after' }]))
  }
  expect(await storages[0]?.get('notes', [2, 3])).toMatchObject([{ title: 'after' }, { title: 'after' }])
})

it('ids that a handle has are not given again by a synchronous standby that takes over', async () => {
  const storage = open()
  await storage.prepare([NOTES])
  await makeSynchronous()
  await storage.insert('notes', [{ id: 1, title: 'waits for the standby' }])
  await link.stop()
  // A transaction that stays open logs the next calls of the sequence in advance, and another commit brings that to the disk, not to the standby.
  const client = new pg.Client({ connectionString: primary.url })
  client.on('error', () => {})
  await client.connect()
  endings.push(() => client.end().catch(() => {}))
  await client.query('begin')
  const joined = storage.joinTransaction(client)
  await joined.reserveIds('notes', 1)
  await queryServer(primary.url, `set synchronous_commit = local; create table other (); select 1`)
  const given = storage.reserveIds('notes', 1).catch(() => [])
  await Promise.race([given, expect.poll(() => queryServer(primary.url, WAITING)).toEqual([{ waiting: '1' }])])
  await failOver()
  const other = open(standby.url)
  await other.prepare([NOTES])
  const taken = new Set(await other.reserveIds('notes', 40_000))
  expect((await given).filter((id) => taken.has(id))).toEqual([])
})

it('a synchronous standby that takes over among writers has all that was acknowledged, and gives no id twice', async () => {
  const vaults = [await openPeople(open()), await openPeople(open())]
  await makeSynchronous()
  const acknowledged: string[] = []
  const refusals = new Set<string>()
  let isOver = false
  let after = 0
  const writers = [0, 1, 2, 3, 4, 5].map(async (writer) => {
    const session = vaults[writer % 2]?.as(OWNER)
    for (let turn = 0; after < 60; turn++) {
      try {
        const inserted = await session?.insert('people', [{ fields: { name: `${writer}/${turn}` } }])
        acknowledged.push(inserted?.records[0]?.id ?? '')
        if (isOver) after++
      } catch (error) {
        refusals.add(Reflect.get(Object(error), 'code'))
      }
    }
  })
  await expect.poll(() => acknowledged.length).toBeGreaterThan(60)
  await failOver()
  isOver = true
  await Promise.all(writers)
  expect([...refusals].filter((code) => code !== 'unavailable' && code !== 'outcome_unknown')).toEqual([])
  expect(new Set(acknowledged).size).toBe(acknowledged.length)
  const vault = await openPeople(open())
  const stored = await vault.verifyRecords()
  expect(stored).toMatchObject({ ok: true })
  expect(stored.recordCount).toBeGreaterThanOrEqual(acknowledged.length)
  expect(await vault.verifyAudit()).toMatchObject({ ok: true })
  const succeeded = (await eventsOf(vault)).filter(({ code }) => code === 200)
  expect(succeeded).toHaveLength(stored.recordCount)
  for (let at = 0; at < acknowledged.length; at += 25) {
    const ids = acknowledged.slice(at, at + 25)
    expect((await vault.as(OWNER).get('people', { ids })).records).toHaveLength(ids.length)
  }
})

it('a checkpoint shows what a standby that is not synchronous has lost', async () => {
  const { privateKey } = generateKeyPairSync('ed25519')
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const vault = await openPeople(open())
  await vault.as(OWNER).insert('people', ada)
  await caughtUp(primary, standby)
  await link.stop()
  await vault.as(OWNER).insert('people', ada)
  const checkpoint = await vault.checkpointAudit({ signer: localSigner({ keyId: 'audit', privateKey: pem }) })
  await failOver()
  await expect
    .poll(() =>
      vault
        .as(OWNER)
        .insert('people', ada)
        .then(
          () => 'stored',
          () => 'refused',
        ),
    )
    .toBe('stored')
  expect(await vault.verifyRecords()).toMatchObject({ ok: true, recordCount: 2 })
  expect(await vault.verifyAudit()).toMatchObject({ ok: true, eventCount: 2 })
  expect(await vault.verifyAudit({ checkpoints: [checkpoint] })).toMatchObject({ ok: false })
})
