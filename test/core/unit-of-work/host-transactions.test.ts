/** Writes of the application and of the vault commit or roll back together, on both SQL engines. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { Kysely, PostgresDialect, SqliteDialect } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { postgresStorage } from '../../../src/adapters/postgres/postgres-storage.ts'
import { sqliteStorage } from '../../../src/adapters/sqlite/sqlite-storage.ts'
import type { Vault } from '../../../src/index.ts'
import { openClients } from '../../support/audit/audited-clients.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { CLERK, OWNER, openPeople, type People } from '../../support/vaults/test-vault.ts'

interface HostTables {
  orders: { id: number; customer: string }
}

/** Vault changes inside a host transaction: an insert, its update, a batch, an upsert, and reads that see them. */
async function changeInside(vault: Vault<People>, hostTransaction: unknown): Promise<string> {
  const people = vault.withTransaction(hostTransaction).as(OWNER)
  const { records } = await people.insert('people', [{ fields: { name: 'Ann', email: 'ann@acme.example' } }], {
    tokenization: true,
  })
  const id = records[0]?.id ?? ''
  await people.updateOne('people', id, { country: 'SE' })
  const failing = { get: 'people', id: 'none' } as const
  const { responses } = await people.batch([failing, { update: 'people', id, fields: { country: 'SE' } }], {
    continueOnError: true,
  })
  expect(responses.map(({ ok }) => ok)).toEqual([false, true])
  await people.insert('people', [{ fields: { name: 'Ann II', email: 'ann@acme.example' } }], { upsert: 'email' })
  expect((await people.getOne('people', id, { redaction: 'PLAIN_TEXT', fields: ['name', 'country'] })).fields).toEqual({
    name: 'Ann II',
    country: 'SE',
  })
  return id
}

async function countPeople(vault: Vault<People>): Promise<number> {
  return (await vault.as(OWNER).get('people')).records.length
}

/** Asserts that calls of every kind end with this code in a transaction of the application that has ended, whether or not they fail for a reason of their own. */
async function assertRefused(inside: Pick<Vault<People>, 'as'>, code = 'invalid_request'): Promise<void> {
  const calls: Readonly<Record<string, () => Promise<unknown>>> = {
    insert: () => inside.as(OWNER).insert('people', [{ fields: { name: 'Ann' } }]),
    get: () => inside.as(OWNER).get('people'),
    query: () => inside.as(OWNER).query('SELECT name FROM people'),
    update: () => inside.as(OWNER).updateOne('people', UNKNOWN_ID, { country: 'SE' }),
    batch: () => inside.as(OWNER).batch([{ get: 'people', id: UNKNOWN_ID }], { continueOnError: true }),
    'a refused call': () => inside.as(CLERK).get('people'),
  }
  for (const [name, call] of Object.entries(calls)) await expect(call(), name).rejects.toMatchObject({ code })
}

const UNKNOWN_ID = '6c0f5b52-7b5e-4d07-9f0e-4a3f6f6f9f11'

const CHANGED_MIND = new Error('changed my mind')

/** Asserts that a transaction of Kysely commits an order and vault changes together, and rolls back both. */
async function assertCommitsWithKysely(vault: Vault<People>, kysely: Kysely<HostTables>): Promise<void> {
  const write = (fails: boolean) =>
    kysely.transaction().execute(async (trx) => {
      const id = await changeInside(vault, trx)
      await trx.insertInto('orders').values({ id: 99, customer: id }).execute()
      if (fails) throw CHANGED_MIND
    })
  await expect(write(true)).rejects.toBe(CHANGED_MIND)
  expect(await countPeople(vault)).toBe(0)
  await write(false)
  expect(await countPeople(vault)).toBe(1)
}

describe('a host transaction on SQLite', () => {
  const directory = mkdtempSync(join(tmpdir(), 'strongroom-host-'))
  const filename = join(directory, 'app.db')
  const storage = sqliteStorage({ filename })
  const host = new Database(filename)
  const kysely = new Kysely<HostTables>({ dialect: new SqliteDialect({ database: new Database(filename) }) })
  let vault: Vault<People>

  beforeAll(async () => {
    host.exec('create table orders (id integer primary key, customer text not null)')
    vault = await openPeople(storage)
  })
  afterAll(async () => {
    await vault.close()
    await kysely.destroy()
    host.close()
    rmSync(directory, { recursive: true, force: true })
  })

  it('of the driver commits application and vault changes together or not at all', async () => {
    const before = await countPeople(vault)
    host.exec('begin immediate')
    host.prepare('insert into orders (customer) values (?)').run(await changeInside(vault, host))
    host.exec('rollback')
    expect(await countPeople(vault)).toBe(before)
    host.exec('begin immediate')
    const id = await changeInside(vault, host)
    host.prepare('insert into orders (customer) values (?)').run(id)
    // A read from outside sees nothing of it, and returns once the writer can record the read.
    const outside = countPeople(vault)
    await new Promise((resolve) => setImmediate(resolve))
    host.exec('commit')
    expect(await outside).toBe(before)
    expect(await countPeople(vault)).toBe(before + 1)
    expect(host.prepare('select customer from orders').pluck().all()).toEqual([id])
    await vault.as(OWNER).delete('people', '*')
  })

  it('that has ended refuses every call as invalid, and stores nothing', async () => {
    const before = await countPeople(vault)
    host.exec('begin immediate')
    const inside = vault.withTransaction(host)
    host.exec('commit')
    await assertRefused(inside)
    expect(await countPeople(vault)).toBe(before)
  })

  it('of Kysely commits application and vault changes together or not at all', () => assertCommitsWithKysely(vault, kysely))
})

describe('a host transaction on PostgreSQL', () => {
  let pool: pg.Pool
  let kysely: Kysely<HostTables>
  let vault: Vault<People>
  let drop = async (): Promise<void> => {}

  beforeAll(async () => {
    const database = await freshDatabase(inject('postgresUrl'))
    drop = database.drop
    pool = new pg.Pool({ connectionString: database.url, max: 6 })
    kysely = new Kysely<HostTables>({ dialect: new PostgresDialect({ pool }) })
    await pool.query('create table orders (id serial primary key, customer text not null)')
    vault = await openPeople(postgresStorage({ pool }))
  })
  afterAll(async () => {
    await vault.close()
    await kysely.destroy()
    await drop()
  })

  it('of the driver commits application and vault changes together or not at all', async () => {
    const client = await pool.connect()
    await client.query('begin')
    await client.query('insert into orders (customer) values ($1)', [await changeInside(vault, client)])
    await client.query('rollback')
    expect(await countPeople(vault)).toBe(0)
    await client.query('begin')
    const id = await changeInside(vault, client)
    await client.query('insert into orders (customer) values ($1)', [id])
    expect(await countPeople(vault)).toBe(0)
    await client.query('commit')
    client.release()
    expect(await countPeople(vault)).toBe(1)
    expect((await pool.query('select customer from orders')).rows).toEqual([{ customer: id }])
    await vault.as(OWNER).delete('people', '*')
  })

  it.each(['that was never begun', 'that has ended'])('%s refuses every call as invalid, and stores nothing', async (state) => {
    const client = await pool.connect()
    if (state === 'that has ended') await client.query('begin')
    const inside = vault.withTransaction(client)
    if (state === 'that has ended') await client.query('commit')
    await assertRefused(inside)
    client.release()
    expect(await countPeople(vault)).toBe(0)
  })

  it('in which a statement failed says so in every call', async () => {
    const client = await pool.connect()
    await client.query('begin')
    await client.query('select 1 / 0').catch(() => {})
    const get = vault.withTransaction(client).as(OWNER).get('people')
    await expect(get).rejects.toMatchObject({ code: 'internal', message: expect.stringContaining('Roll it back') })
    await client.query('rollback')
    client.release()
  })

  it('of Kysely commits application and vault changes together or not at all', () => assertCommitsWithKysely(vault, kysely))
})

/** What applications have at hand that is no transaction of the database the vault is in. */
const NO_TRANSACTIONS: Readonly<Record<string, unknown>> = {
  null: null,
  undefined: undefined,
  'a text': 'begin',
  'a plain object': {},
  'a function, as the transaction of Knex': Object.assign(() => {}, { query: () => {}, on: () => {}, commit: () => {} }),
  'an entity manager, as in TypeORM': {
    connection: {},
    queryRunner: { query: async () => [] },
    query: async () => [],
    save: () => {},
  },
  'a query runner, as in TypeORM': { query: async () => [], release: () => {}, isTransactionActive: true, manager: {} },
  'a client of Prisma': new Proxy(
    { $queryRaw: async () => [] },
    { get: (target, name) => Reflect.get(target, name) ?? undefined },
  ),
  'a pool of pg': new pg.Pool({ connectionString: 'postgres://not-used' }),
  'a client of pg that was never connected': new pg.Client('postgres://not-used'),
  'Kysely without a transaction': new Kysely({ dialect: new SqliteDialect({ database: new Database(':memory:') }) }),
  'a database of better-sqlite3 without a transaction': new Database(':memory:'),
}

onEachStorage('joining what is no transaction', (engine) => {
  it.each(Object.entries(NO_TRANSACTIONS))('%s is refused at once', async (_, host) => {
    const storage = engine.fresh().open()
    for (const audit of ['on', 'off'] as const) {
      const vault = await openClients(storage, { audit })
      expect(() => vault.withTransaction(host)).toThrow(expect.objectContaining({ name: 'VaultError', code: 'invalid_request' }))
    }
    expect(() => storage.joinTransaction(host)).toThrow(expect.objectContaining({ code: 'invalid_request' }))
  })
})
