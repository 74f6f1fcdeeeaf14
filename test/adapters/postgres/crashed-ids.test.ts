/** A server that crashes before its log is on disk: no id that a handle keeps is given to another handle too. */
import pg from 'pg'
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest'
import { postgresStorage } from '../../../src/adapters/postgres/index.ts'
import type { PhysicalTable, Storage, StorageHandle } from '../../../src/core/ports/storage.ts'
import { startPostgres } from '../../support/postgres/server.ts'

const NOTES: PhysicalTable = { name: 'notes', columns: [{ name: 'title', type: 'text' }], indexes: [] }

// The server writes its log by itself only after ten seconds, so that a crash before that loses it.
const server = await startPostgres({ durable: true, settings: ['wal_writer_delay=10s', 'bgwriter_delay=10s', 'autovacuum=off'] })
afterAll(() => server.stop())
const endings: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

let schemas = 0
let schema = ''
let handle: StorageHandle
beforeEach(async () => {
  schema = `crashed_${++schemas}`
  handle = open()
  await handle.prepare([NOTES])
})

function open(): StorageHandle {
  const storage = postgresStorage({ connectionString: server.url, schema })
  endings.push(() => storage.close())
  return storage
}

/** A transaction of the application that is still open when the server crashes. */
async function openTransaction(storage: StorageHandle): Promise<Storage> {
  const client = new pg.Client({ connectionString: server.url })
  client.on('error', () => {})
  await client.connect()
  endings.push(() => client.end().catch(() => {}))
  await client.query('begin')
  return storage.joinTransaction(client)
}

/** Inserts a row, and returns its id. */
async function insertOne(storage: Storage): Promise<number> {
  const [id = 0] = await storage.reserveIds('notes', 1)
  await storage.insert('notes', [{ id, title: 'of the first' }])
  return id
}

/** Crashes the server, lets another process insert and delete rows, and returns the ids that the handle gives to rows after that and that those had. */
async function repeatedAfterCrash(): Promise<readonly number[]> {
  await server.crashAndRestart()
  const other = open()
  await other.prepare([NOTES])
  const taken = await other.reserveIds('notes', 40_000)
  await other.insert(
    'notes',
    taken.map((id) => ({ id, title: 'of the other' })),
  )
  await other.delete('notes', { ids: taken })
  const ids = await handle.reserveIds('notes', 3000)
  await handle.insert(
    'notes',
    ids.map((id) => ({ id, title: 'of the first' })),
  )
  const others = new Set(taken)
  return ids.filter((id) => others.has(id))
}

it('ids fetched in a transaction that is rolled back', async () => {
  const rolledBack = handle.transaction(async (inner) => {
    await inner.reserveIds('notes', 1)
    throw new Error('no')
  })
  await expect(rolledBack).rejects.toThrow('no')
  expect(await repeatedAfterCrash()).toEqual([])
})

it('ids fetched in a transaction of the application that is open', async () => {
  const inner = await openTransaction(handle)
  await inner.reserveIds('notes', 1)
  expect(await repeatedAfterCrash()).toEqual([])
})

it('ids fetched in a savepoint of a transaction that commits', async () => {
  const first = await handle.transaction(async (inner) => {
    const nested = inner.transaction(async (innermost) => {
      await innermost.reserveIds('notes', 1)
      throw new Error('no')
    })
    await expect(nested).rejects.toThrow('no')
    return insertOne(inner)
  })
  // What is left of the block is kept.
  expect(await handle.reserveIds('notes', 1)).toEqual([first + 1])
  expect(await repeatedAfterCrash()).toEqual([])
})

it('ids fetched in a transaction that writes nothing else, after an open transaction has logged them in advance', async () => {
  const inner = await openTransaction(open())
  await inner.prepare([NOTES])
  await inner.reserveIds('notes', 1)
  await handle.transaction((transaction) => transaction.reserveIds('notes', 1))
  expect(await repeatedAfterCrash()).toEqual([])
})

it('ids fetched in a transaction that inserts them are kept', async () => {
  const first = await handle.transaction(insertOne)
  expect(await handle.reserveIds('notes', 1)).toEqual([first + 1])
  expect(await repeatedAfterCrash()).toEqual([])
})

it('ids of a sequence that is created again in the transaction, after a savepoint that created it was rolled back', async () => {
  schema = `crashed_${++schemas}`
  handle = open()
  await handle.transaction(async (inner) => {
    const nested = inner.transaction(async (innermost) => {
      await innermost.prepare([NOTES])
      await innermost.reserveIds('notes', 1)
      throw new Error('no')
    })
    await expect(nested).rejects.toThrow('no')
    await inner.prepare([NOTES])
    await insertOne(inner)
  })
  const other = open()
  await other.prepare([NOTES])
  const taken = new Set(await other.reserveIds('notes', 3000))
  expect((await handle.reserveIds('notes', 500)).filter((id) => taken.has(id))).toEqual([])
})

it('ids fetched alone, after an open transaction has logged them in advance', async () => {
  const inner = await openTransaction(open())
  await inner.prepare([NOTES])
  await inner.reserveIds('notes', 1)
  const [first = 0] = await handle.reserveIds('notes', 1)
  expect(await repeatedAfterCrash()).toEqual([])
  expect(first).toBeGreaterThan(1)
})

it('ids of a role that may not read how far the log is are fetched without', async () => {
  const admin = new pg.Client({ connectionString: server.url })
  await admin.connect()
  endings.push(() => admin.end())
  await admin.query('revoke execute on function pg_current_wal_insert_lsn() from public')
  endings.push(() => admin.query('grant execute on function pg_current_wal_insert_lsn() to public'))
  await admin.query(`create role plain login password 'plain'`)
  await admin.query(`grant usage on schema ${schema} to plain; grant usage on all sequences in schema ${schema} to plain`)
  await admin.query(`grant select, insert on all tables in schema ${schema} to plain`)
  const url = Object.assign(new URL(server.url), { username: 'plain', password: 'plain' })
  const storage = postgresStorage({ connectionString: url.href, schema })
  endings.push(() => storage.close())
  await storage.prepare([NOTES])
  expect(await storage.reserveIds('notes', 1500)).toHaveLength(1500)
  expect(await storage.reserveIds('notes', 1500)).toHaveLength(1500)
})
