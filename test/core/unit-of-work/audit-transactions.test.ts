/** Events in transactions of the vault and of the application: they commit with their changes, and a rollback hides nothing. */
import { AsyncResource } from 'node:async_hooks'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { postgresStorage } from '../../../src/adapters/postgres/postgres-storage.ts'
import { sqliteStorage } from '../../../src/adapters/sqlite/sqlite-storage.ts'
import type { Vault, VaultInTransaction } from '../../../src/index.ts'
import { type ClientSession, type Clients, eventsOf, openClients } from '../../support/audit/audited-clients.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { CLERK, OWNER } from '../../support/vaults/test-vault.ts'

const CHANGED_MIND = new Error('changed my mind')
const ROLLED_BACK = 'Rolled back with its transaction.'

async function insertClient(session: ClientSession, email: string): Promise<string> {
  const { records } = await session.insert('clients', [{ fields: { name: 'n', email } }])
  return records[0]?.id ?? ''
}

/** A change, a read of it, a change of it, a caught failure, and a caught refusal. */
async function doAll(vault: VaultInTransaction<Clients>, email: string): Promise<string> {
  const session = vault.as(OWNER)
  const id = await insertClient(session, email)
  await session.getOne('clients', id)
  await session.updateOne('clients', id, { country: 'SE' })
  await expect(insertClient(session, email)).rejects.toMatchObject({ code: 'conflict' })
  await expect(vault.as(CLERK).getOne('clients', id)).rejects.toMatchObject({ code: 'forbidden' })
  return id
}

/** The events of `doAll` after a commit, and after a rollback. */
const RECORDED = ['INSERT 200 ', 'GET 200 ', 'UPDATE 200 ', 'INSERT 422 Insert', 'GET 401 Get']
const RECORDED_ROLLED_BACK = ['INSERT 500 Rolled', 'GET 200 ', 'UPDATE 500 Rolled', 'INSERT 422 Insert', 'GET 401 Get']

/** Action, status and first word of the message of each event, by time. */
async function recordedBy(vault: Vault<Clients>): Promise<string[]> {
  return (await eventsOf(vault)).map(({ action, code, message }) => `${action} ${code} ${message.split(' ')[0]}`)
}

async function countClients(vault: Vault<Clients>): Promise<number> {
  return (await vault.as(OWNER).get('clients')).records.length
}

onEachStorage('events of a transaction', (engine) => {
  it('are stored when it commits, including those of caught failures', async () => {
    const vault = await openClients(engine.fresh().open())
    // Inside the transaction the outer vault is refused: this looks from elsewhere.
    const recordedOutside = AsyncResource.bind(() => recordedBy(vault))
    await vault.transaction(async (inside) => {
      await doAll(inside, 'a@acme.example')
      expect(await recordedOutside()).toEqual([])
    })
    expect(await recordedBy(vault)).toEqual(RECORDED)
    expect(await vault.verifyAudit()).toEqual({ ok: true, eventCount: 5 })
  })

  it('are recorded when it rolls back: reads as they were, changes as rolled back', async () => {
    const vault = await openClients(engine.fresh().open())
    const work = vault.transaction(async (inside) => {
      await doAll(inside, 'a@acme.example')
      throw CHANGED_MIND
    })
    await expect(work).rejects.toBe(CHANGED_MIND)
    // They are stored concurrently, in any order.
    expect((await recordedBy(vault)).sort()).toEqual([...RECORDED_ROLLED_BACK].sort())
    const rolledBack = (await eventsOf(vault)).filter(({ code }) => code === 500)
    expect(rolledBack.map(({ message }) => message)).toEqual([ROLLED_BACK, ROLLED_BACK])
    // The rows of a change that rolled back stay named: its record ids are what an auditor looks for.
    for (const { rows } of rolledBack) expect(rows).toMatchObject([{ table: 'clients' }])
    expect(await countClients(vault)).toBe(0)
    expect(await vault.verifyAudit()).toEqual({ ok: true, eventCount: 6 })
  })

  it('keep their chains valid while many concurrent transactions commit and roll back', async () => {
    const vault = await openClients(engine.fresh().open())
    const works = Array.from({ length: 16 }, (_, n) => {
      if (n % 4 === 3) return vault.as(OWNER).get('clients')
      return vault.transaction(async (inside) => {
        await doAll(inside, `a${n}@acme.example`)
        if (n % 4 === 2) throw CHANGED_MIND
      })
    })
    const outcomes = await Promise.allSettled(works)
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(4)
    expect(await vault.verifyAudit()).toEqual({ ok: true, eventCount: 12 * 5 + 4 })
    expect(await countClients(vault)).toBe(8)
  })

  it('of a failed transaction are recorded once, each with its own message', async () => {
    const vault = await openClients(engine.fresh().open())
    const work = vault.transaction(async (inside) => {
      await insertClient(inside.as(OWNER), 'a@acme.example')
      await insertClient(inside.as(OWNER), 'a@acme.example')
    })
    await expect(work).rejects.toMatchObject({ code: 'conflict' })
    expect((await recordedBy(vault)).sort()).toEqual(['INSERT 422 Insert', 'INSERT 500 Rolled'])
  })
})

/** The same application transactions on both engines. */
interface Host {
  begin(): Promise<unknown>
  end(transaction: unknown, statement: 'commit' | 'rollback'): Promise<void>
  run(transaction: unknown, statement: string): Promise<void>
}

/** Asserts what holds for host transactions, one at a time. */
async function hostTransactions(vault: Vault<Clients>, host: Host): Promise<void> {
  const within = async (end: 'commit' | 'rollback', email: string) => {
    const transaction = await host.begin()
    await doAll(vault.withTransaction(transaction), email)
    await host.end(transaction, end)
  }
  await within('commit', 'a@acme.example')
  expect(await recordedBy(vault)).toEqual(RECORDED)
  // The application ends it: a rollback removes its changes and its events.
  await within('rollback', 'b@acme.example')
  expect(await recordedBy(vault)).toEqual(RECORDED)
  await within('commit', 'b@acme.example')
  expect(await vault.verifyAudit()).toEqual({ ok: true, eventCount: 10 })
  const transaction = await host.begin()
  const inside = vault.withTransaction(transaction).as(OWNER)
  await insertClient(inside, 'c@acme.example')
  await host.run(transaction, 'savepoint halfway')
  await insertClient(inside, 'd@acme.example')
  await host.run(transaction, 'rollback to savepoint halfway')
  await insertClient(inside, 'e@acme.example')
  await host.end(transaction, 'commit')
  expect(await vault.verifyAudit()).toEqual({ ok: true, eventCount: 12 })
  expect(await countClients(vault)).toBe(4)
}

describe('events of a host transaction on SQLite', () => {
  const directory = mkdtempSync(join(tmpdir(), 'strongroom-audit-'))
  const filename = join(directory, 'app.db')
  const storage = sqliteStorage({ filename })
  const database = new Database(filename)
  afterAll(async () => {
    await storage.close()
    database.close()
    rmSync(directory, { recursive: true, force: true })
  })

  it('commit and roll back with it, and their chain stays valid', async () => {
    const vault = await openClients(storage)
    await hostTransactions(vault, {
      async begin() {
        database.exec('begin immediate')
        return database
      },
      async end(_, statement) {
        database.exec(statement)
      },
      async run(_, statement) {
        database.exec(statement)
      },
    })
  })
})

describe('events of a host transaction on PostgreSQL', () => {
  let pool: pg.Pool
  let drop = async (): Promise<void> => {}
  let places = 0
  const nextVault = () => openClients(postgresStorage({ pool, schema: `host_${++places}` }))

  beforeAll(async () => {
    const database = await freshDatabase(inject('postgresUrl'))
    drop = database.drop
    pool = new pg.Pool({ connectionString: database.url, max: 12 })
  })
  afterAll(async () => {
    await pool.end()
    await drop()
  })

  const host: Host = {
    async begin() {
      const client = await pool.connect()
      await client.query('begin')
      return client
    },
    async end(transaction, statement) {
      const client = transaction as pg.PoolClient // As `begin` made it.
      await client.query(statement)
      client.release()
    },
    async run(transaction, statement) {
      await (transaction as pg.PoolClient).query(statement) // As `begin` made it.
    },
  }

  it('commit and roll back with it, and their chain stays valid', async () => {
    await hostTransactions(await nextVault(), host)
  })

  it('wait neither for those of another host transaction nor for other callers', async () => {
    const vault = await nextVault()
    const [left, right] = [await host.begin(), await host.begin()]
    await doAll(vault.withTransaction(left), 'l@acme.example')
    await doAll(vault.withTransaction(right), 'r@acme.example')
    expect(await countClients(vault)).toBe(0)
    await vault.transaction((inside) => doAll(inside, 'o@acme.example'))
    await doAll(vault.withTransaction(right), 'r2@acme.example')
    await doAll(vault.withTransaction(left), 'l2@acme.example')
    await host.end(right, 'rollback')
    await host.end(left, 'commit')
    expect(await countClients(vault)).toBe(3)
    expect(await vault.verifyAudit()).toEqual({ ok: true, eventCount: 1 + 5 + 10 + 1 })
  })

  it('are stored in another chain, without waiting, while another process begins the same chain', async () => {
    const place = { pool, schema: `host_${++places}` }
    const [one, other] = [await openClients(postgresStorage(place)), await openClients(postgresStorage(place))]
    const [left, right] = [await host.begin(), await host.begin()]
    await doAll(one.withTransaction(left), 'l@acme.example')
    await doAll(other.withTransaction(right), 'r@acme.example')
    await host.end(left, 'commit')
    await host.end(right, 'commit')
    expect(new Set((await eventsOf(one)).map(({ position }) => position.chain)).size).toBe(2)
    expect(await one.verifyAudit()).toEqual({ ok: true, eventCount: 10 })
  })

  it('of the vault are recorded once each, without waiting, while another process begins the same chain', async () => {
    const place = { pool, schema: `host_${++places}` }
    const [one, other] = [await openClients(postgresStorage(place)), await openClients(postgresStorage(place))]
    const left = await host.begin()
    await doAll(one.withTransaction(left), 'l@acme.example')
    await other.transaction((inside) => doAll(inside, 'r@acme.example'))
    await host.end(left, 'commit')
    expect(await recordedBy(one)).toEqual(expect.arrayContaining([...RECORDED, ...RECORDED]))
    expect(await one.verifyAudit()).toEqual({ ok: true, eventCount: 10 })
  })

  it("need no connection but the host's, even if the host holds every connection", async () => {
    const tight = new pg.Pool({ ...pool.options, max: 2 })
    const vault = await openClients(postgresStorage({ pool: tight, schema: `host_${++places}` }))
    const clients = [await tight.connect(), await tight.connect()]
    for (const [n, client] of clients.entries()) {
      await client.query('begin')
      await doAll(vault.withTransaction(client), `${n}@acme.example`)
    }
    for (const client of clients) {
      await client.query('commit')
      client.release()
    }
    expect(await vault.verifyAudit()).toEqual({ ok: true, eventCount: 10 })
    await tight.end()
  })

  it('reuse the chains of committed host transactions', async () => {
    const vault = await nextVault()
    for (let n = 0; n < 10; n++) {
      const transaction = await host.begin()
      await insertClient(vault.withTransaction(transaction).as(OWNER), `${n}@acme.example`)
      await host.end(transaction, 'commit')
    }
    const chains = (await eventsOf(vault)).map(({ position }) => position.chain)
    expect(Math.max(...chains)).toBeLessThanOrEqual(2)
  })
})
