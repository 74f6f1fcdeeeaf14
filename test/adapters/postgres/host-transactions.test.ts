/** The vault inside a transaction the application opened: both commit together or not at all. */
import { CamelCasePlugin, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest'
import { postgresStorage } from '../../../src/adapters/postgres/index.ts'
import type { PhysicalTable, Storage } from '../../../src/core/ports/storage.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'
import { OWNER, openPeople } from '../../support/vaults/test-vault.ts'

const NOTES: PhysicalTable = {
  name: 'notes',
  columns: [
    { name: 'body_bytes', type: 'bytes' },
    { name: 'title', type: 'text' },
    { name: 'amount', type: 'integer' },
    { name: 'rate', type: 'real' },
  ],
  indexes: [{ columns: ['title'], unique: true }],
}

const database = await freshDatabase(inject('postgresUrl'))
const pool = new pg.Pool({ connectionString: database.url })
const storage = postgresStorage({ connectionString: database.url })
const kysely = new Kysely<Record<string, Record<string, unknown>>>({
  dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: database.url, types: hastyParsers() }) }),
  plugins: [new CamelCasePlugin()],
})

/** As in many applications: 64-bit integers are parsed as doubles. */
function hastyParsers() {
  const cut = (text: string) => Number.parseInt(text, 10)
  return { getTypeParser: (oid: number) => (oid === 20 ? cut : pg.types.getTypeParser(oid)) }
}

beforeAll(() => storage.prepare([NOTES]))
beforeEach(() => storage.delete('notes', { filter: { kind: 'all' } }))
afterAll(async () => {
  await storage.close()
  await kysely.destroy()
  await pool.end()
  await database.drop()
})

const ROW = { id: 7, body_bytes: Uint8Array.of(0, 128, 255), title: 'nul \u0000 here', amount: 2n ** 53n + 1n, rate: 1e-300 }

async function writeAndRead(joined: Storage): Promise<void> {
  await joined.insert('notes', [ROW])
  expect(await joined.get('notes', [7])).toEqual([{ ...ROW, version: 1 }])
  const aggregates = [{ kind: 'sum', column: 'amount' }, { kind: 'max', column: 'body_bytes' }, { kind: 'count' }] as const
  expect(await joined.aggregate('notes', { kind: 'all' }, aggregates)).toEqual([ROW.amount, ROW.body_bytes, 1])
  expect(await joined.update('notes', [{ id: 7, version: 1, set: { rate: 2 } }])).toEqual([true])
  expect(await joined.reserveIds('notes', 1500)).toHaveLength(1500)
  await expect(joined.transaction((joined) => joined.insert('notes', [{ id: 8, title: ROW.title }]))).rejects.toMatchObject({
    code: 'conflict',
    details: [{ columns: ['title'], index: 0 }],
  })
  await Promise.all([joined.get('notes', [7]), joined.get('notes', [8]), joined.get('notes', [9])])
}

/** A connection of the application. It ends with the test, so that one that fails leaves no transaction open for the next. */
async function connect(): Promise<pg.PoolClient> {
  const client = await pool.connect()
  onTestFinished(() => client.release(true))
  return client
}

const standing = async () => (await storage.get('notes', [7])).map((row) => row?.rate)

describe('a pg client with an open transaction', () => {
  for (const end of ['commit', 'rollback'] as const) {
    it(`shares its ${end} with the vault`, async () => {
      const client = await connect()
      await client.query('begin')
      await writeAndRead(storage.joinTransaction(client))
      expect(await standing()).toEqual([undefined])
      await client.query(end)
      expect(await standing()).toEqual([end === 'commit' ? 2 : undefined])
    })
  }

  it('keeps what the application writes right after a nested transaction rolled back', async () => {
    const client = await connect()
    await client.query('begin')
    await client.query('create table kept (n integer)')
    const joined = storage.joinTransaction(client)
    for (let n = 0; n < 5; n++) {
      const nested = joined.transaction((one) =>
        one.transaction((two) =>
          two.transaction(async (three) => {
            await three.reserveIds('notes', 1)
            throw new Error('undo it')
          }),
        ),
      )
      await nested.catch(() => {})
      await client.query('insert into kept values ($1)', [n])
    }
    await client.query('commit')
    expect((await client.query('select n from kept order by n')).rows).toHaveLength(5)
    await client.query('drop table kept')
  })

  it('that lost to others fails with the advice to begin again, though it ran once', async () => {
    const vault = await openPeople(postgresStorage({ connectionString: database.url, schema: 'lost' }))
    const session = vault.as(OWNER)
    const { id } = await session.insertOne('orders', { total: 1 })
    const client = await connect()
    await client.query('begin isolation level repeatable read')
    await client.query('select 1')
    await session.updateOne('orders', id, { total: 2 })
    const joined = vault.withTransaction(client).as(OWNER)
    const failure: unknown = await joined.updateOne('orders', id, { total: 3 }).catch((error: unknown) => error)
    await client.query('rollback')
    await vault.close()
    const message = expect.stringMatching(/serialization conflict with others\. Run it again, from its beginning\.$/)
    expect(failure).toMatchObject({ name: 'VaultError', code: 'aborted', message })
  })

  it('is rejected without an open transaction, before and after one', async () => {
    const client = await connect()
    await expect(storage.joinTransaction(client).insert('notes', [ROW])).rejects.toMatchObject({ code: 'invalid_request' })
    await client.query('begin')
    const joined = storage.joinTransaction(client)
    await joined.insert('notes', [{ id: 1 }])
    await client.query('commit')
    await expect(joined.insert('notes', [ROW])).rejects.toMatchObject({ code: 'invalid_request' })
    expect(await standing()).toEqual([undefined])
  })
})

describe('a Kysely transaction', () => {
  it('shares its commit with the vault, with any plugins and type parsers', async () => {
    await kysely.transaction().execute((transaction) => writeAndRead(storage.joinTransaction(transaction)))
    expect(await standing()).toEqual([2])
  })

  it('shares its rollback with the vault', async () => {
    const work = kysely.transaction().execute(async (transaction) => {
      await writeAndRead(storage.joinTransaction(transaction))
      throw new Error('host gives up')
    })
    await expect(work).rejects.toThrow('host gives up')
    expect(await standing()).toEqual([undefined])
  })

  it('can create the tables and roll that back', async () => {
    const own = postgresStorage({ connectionString: database.url, schema: 'taken_back' })
    const work = kysely.transaction().execute(async (transaction) => {
      const joined = own.joinTransaction(transaction)
      await joined.prepare([NOTES])
      await joined.insert('notes', [ROW])
      const { rows } = await pool.query(`select 1 from pg_namespace where nspname = 'taken_back'`)
      expect(rows).toEqual([])
      throw new Error('host gives up')
    })
    await expect(work).rejects.toThrow('host gives up')
    await own.prepare([NOTES])
    expect(await own.get('notes', [7])).toEqual([undefined])
    await own.close()
  })
})

it('rejects anything else', () => {
  for (const host of [undefined, null, 'begin', {}, pool, kysely]) {
    expect(() => storage.joinTransaction(host)).toThrow(expect.objectContaining({ code: 'invalid_request' }))
  }
})
