/** A transaction of each library that docs/transactions.md names commits and rolls back with the vault, on both SQL engines. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { drizzle as drizzleSqlite } from 'drizzle-orm/better-sqlite3'
import { drizzle as drizzlePostgres } from 'drizzle-orm/node-postgres'
import { pgTable, text as pgText, serial } from 'drizzle-orm/pg-core'
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import knexOf, { type Knex } from 'knex'
import { Kysely, PostgresDialect, SqliteDialect } from 'kysely'
import pg from 'pg'
import { DataSource } from 'typeorm'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { postgresStorage } from '../../src/adapters/postgres/index.ts'
import { sqliteStorage } from '../../src/adapters/sqlite/index.ts'
import type { Vault } from '../../src/index.ts'
import { freshDatabase } from '../support/postgres/fresh-database.ts'
import { OWNER, openPeople, type People } from '../support/vaults/test-vault.ts'

/** Stores an order of the application. */
type StoreOrder = (customer: string) => Promise<unknown>

/** A library with a table of orders. */
interface Library {
  /** Runs work in one transaction of the library. `join` is what it passes to the vault. */
  transaction(work: (join: unknown, storeOrder: StoreOrder) => Promise<void>): Promise<void>
  close(): Promise<void>
}

/** Where vault and application keep their data: the name of a file, or the URL of a database. */
type OpenLibrary = (address: string) => Promise<Library> | Library

const ORDERS = 'create table orders (id KEY, customer text not null)'
const INSERT = 'insert into orders (customer) values'

interface Orders {
  readonly orders: { readonly id?: number; readonly customer: string }
}

function ofKysely(kysely: Kysely<Orders>): Library {
  return {
    transaction: (work) =>
      kysely.transaction().execute((trx) => work(trx, (customer) => trx.insertInto('orders').values({ customer }).execute())),
    close: () => kysely.destroy(),
  }
}

/** Kysely's transaction that the application ends by hand. */
function ofControlledKysely(kysely: Kysely<Orders>): Library {
  return {
    async transaction(work) {
      const trx = await kysely.startTransaction().execute()
      try {
        await work(trx, (customer) => trx.insertInto('orders').values({ customer }).execute())
        await trx.commit().execute()
      } catch (error) {
        await trx.rollback().execute()
        throw error
      }
    },
    close: () => kysely.destroy(),
  }
}

function ofKnex(knex: Knex): Library {
  return {
    transaction: (work) =>
      knex.transaction(async (trx) => {
        const connection: unknown = await trx.client.acquireConnection()
        await work(connection, (customer) => trx('orders').insert({ customer }))
      }),
    close: () => knex.destroy(),
  }
}

function ofTypeOrm(dataSource: DataSource, parameter: string): Library {
  return {
    transaction: (work) =>
      dataSource.transaction(async (manager) => {
        const connection: unknown = await manager.queryRunner?.connect()
        await work(connection, (customer) => manager.query(`${INSERT} (${parameter})`, [customer]))
      }),
    close: () => dataSource.destroy(),
  }
}

function onDatabase(database: Database.Database, storeOrder: StoreOrder): Library {
  return {
    async transaction(work) {
      database.exec('begin immediate')
      try {
        await work(database, storeOrder)
        database.exec('commit')
      } catch (error) {
        if (database.inTransaction) database.exec('rollback')
        throw error
      }
    },
    async close() {
      database.close()
    },
  }
}

const sqliteOrders = sqliteTable('orders', { id: integer().primaryKey(), customer: text().notNull() })
const postgresOrders = pgTable('orders', { id: serial().primaryKey(), customer: pgText().notNull() })

const ON_SQLITE: Readonly<Record<string, OpenLibrary>> = {
  'better-sqlite3'(filename) {
    const database = new Database(filename)
    return onDatabase(database, async (customer) => database.prepare(`${INSERT} (?)`).run(customer))
  },
  drizzle(filename) {
    const database = new Database(filename)
    const db = drizzleSqlite({ client: database })
    return onDatabase(database, async (customer) => db.insert(sqliteOrders).values({ customer }).run())
  },
  Kysely: (filename) => ofKysely(new Kysely({ dialect: new SqliteDialect({ database: new Database(filename) }) })),
  'Kysely, ended by hand': (filename) =>
    ofControlledKysely(new Kysely({ dialect: new SqliteDialect({ database: new Database(filename) }) })),
  Knex: (filename) => ofKnex(knexOf({ client: 'better-sqlite3', connection: { filename }, useNullAsDefault: true })),
  TypeORM: async (filename) => ofTypeOrm(await new DataSource({ type: 'better-sqlite3', database: filename }).initialize(), '?'),
}

const ON_POSTGRES: Readonly<Record<string, OpenLibrary>> = {
  async pg(url) {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    return {
      async transaction(work) {
        await client.query('begin')
        try {
          await work(client, (customer) => client.query(`${INSERT} ($1)`, [customer]))
          await client.query('commit')
        } catch (error) {
          await client.query('rollback')
          throw error
        }
      },
      close: () => client.end(),
    }
  },
  drizzle(url) {
    const pool = new pg.Pool({ connectionString: url })
    return {
      async transaction(work) {
        const client = await pool.connect()
        await drizzlePostgres({ client })
          .transaction((tx) => work(client, (customer) => tx.insert(postgresOrders).values({ customer })))
          .finally(() => client.release())
      },
      close: () => pool.end(),
    }
  },
  Kysely: (url) => ofKysely(new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) }) })),
  'Kysely, ended by hand': (url) =>
    ofControlledKysely(new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) }) })),
  Knex: (url) => ofKnex(knexOf({ client: 'pg', connection: url })),
  TypeORM: async (url) => ofTypeOrm(await new DataSource({ type: 'postgres', url }).initialize(), '$1'),
}

/** A vault and the application's table in one place. */
interface Place {
  readonly vault: Vault<People>
  readonly address: string
  countOrders(): Promise<number>
  close(): Promise<void>
}

async function onSqlite(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-shared-'))
  const address = join(folder, 'app.db')
  const vault = await openPeople(sqliteStorage({ filename: address }))
  const database = new Database(address)
  database.exec(ORDERS.replace('KEY', 'integer primary key'))
  return {
    ...{ vault, address },
    countOrders: async () => Number(database.prepare('select count(*) from orders').pluck().get()),
    async close() {
      await vault.close()
      database.close()
      rmSync(folder, { recursive: true })
    },
  }
}

async function onPostgres(): Promise<Place> {
  const database = await freshDatabase(inject('postgresUrl'))
  const pool = new pg.Pool({ connectionString: database.url })
  const vault = await openPeople(postgresStorage({ pool }))
  await pool.query(ORDERS.replace('KEY', 'serial primary key'))
  return {
    ...{ vault, address: database.url },
    countOrders: async () => Number((await pool.query('select count(*) from orders')).rows[0].count),
    async close() {
      await vault.close()
      await pool.end()
      await database.drop()
    },
  }
}

const CHANGED_MIND = new Error('changed my mind')

for (const [engine, openPlace, libraries] of [
  ['SQLite', onSqlite, ON_SQLITE],
  ['PostgreSQL', onPostgres, ON_POSTGRES],
] as const) {
  describe(`on ${engine}`, () => {
    let place: Place
    beforeAll(async () => {
      place = await openPlace()
    })
    afterAll(() => place.close())

    const counts = async () => [(await place.vault.as(OWNER).get('people')).records.length, await place.countOrders()]

    it.each(Object.entries(libraries))('a transaction of %s rolls back and commits with the vault', async (name, open) => {
      const library = await open(place.address)
      const before = await counts()
      const add = (fails: boolean) =>
        library.transaction(async (join, storeOrder) => {
          await storeOrder('a customer')
          const people = place.vault.withTransaction(join).as(OWNER)
          const { records } = await people.insert('people', [{ fields: { name: 'Ann', email: `${name}@acme.example` } }])
          await people.updateOne('people', records[0]?.id ?? '', { country: 'SE' })
          await storeOrder(records[0]?.id ?? '')
          if (fails) throw CHANGED_MIND
        })
      await expect(add(true)).rejects.toBe(CHANGED_MIND)
      expect(await counts()).toEqual(before)
      await add(false)
      expect(await counts()).toEqual(before.map((count, index) => count + index + 1))
      await library.close()
      expect((await place.vault.verifyAudit()).ok).toBe(true)
    })

    it('what the vault did in a savepoint of the library rolls back with it, and the trail goes on', async () => {
      const knex = knexOf(
        engine === 'SQLite'
          ? { client: 'better-sqlite3', connection: { filename: place.address }, useNullAsDefault: true }
          : { client: 'pg', connection: place.address },
      )
      const before = await counts()
      await knex.transaction(async (trx) => {
        const connection: unknown = await trx.client.acquireConnection()
        const people = place.vault.withTransaction(connection).as(OWNER)
        await people.insert('people', [{ fields: { name: 'Kept' } }])
        const nested = trx.transaction(async () => {
          await people.insert('people', [{ fields: { name: 'Rolled back' } }])
          throw CHANGED_MIND
        })
        await expect(nested).rejects.toBe(CHANGED_MIND)
        await people.insert('people', [{ fields: { name: 'Kept too' } }])
      })
      await knex.destroy()
      expect(await counts()).toEqual([(before[0] ?? 0) + 2, before[1]])
      expect((await place.vault.verifyAudit()).ok).toBe(true)
    })
  })
}

describe('on SQLite, where there is one writer', () => {
  let place: Place
  let database: Database.Database
  beforeAll(async () => {
    place = await onSqlite()
    database = new Database(place.address, { timeout: 20 })
  })
  afterAll(async () => {
    database.close()
    await place.close()
  })
  const insertInto = (vault: Pick<Vault<People>, 'as'>) => vault.as(OWNER).insert('people', [{ fields: { name: 'Ann' } }])

  it('a transaction that read before another commit cannot write any more', async () => {
    database.exec('begin')
    database.prepare('select count(*) from orders').get()
    await insertInto(place.vault)
    await expect(insertInto(place.vault.withTransaction(database))).rejects.toMatchObject({ code: 'unavailable' })
    expect(() => database.exec("insert into orders (customer) values ('none')")).toThrow(
      expect.objectContaining({ code: 'SQLITE_BUSY_SNAPSHOT' }),
    )
    database.exec('rollback')
  })

  it('none begins while a transaction of the vault runs', async () => {
    await place.vault.transaction(async (inside) => {
      await insertInto(inside)
      expect(() => database.exec('begin immediate')).toThrow(expect.objectContaining({ code: 'SQLITE_BUSY' }))
    })
  })

  it('a session of an earlier transaction is refused between transactions', async () => {
    database.exec('begin immediate')
    const joined = place.vault.withTransaction(database)
    await insertInto(joined)
    database.exec('commit')
    await expect(insertInto(joined)).rejects.toMatchObject({ code: 'invalid_request' })
  })
})

it('drizzle on better-sqlite3 refuses an asynchronous transaction, so it is begun on the Database', () => {
  const db = drizzleSqlite({ client: new Database(':memory:') })
  expect(() => db.transaction(async () => {})).toThrow('Transaction function cannot return a promise')
})
