/** Indexes that PostgreSQL builds beside writers, and what is left of builds that did not end. */
import pg from 'pg'
import { afterAll, expect, inject, it } from 'vitest'
import { postgresStorage } from '../../../src/adapters/postgres/index.ts'
import { indexName } from '../../../src/adapters/postgres/postgres-sql-dialect.ts'
import type { PhysicalTable } from '../../../src/core/ports/storage.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'

const BARE: PhysicalTable = { name: 'notes', columns: [{ name: 'title', type: 'text', isShort: true }], indexes: [] }
const BY_TITLE = { columns: ['title'], unique: true }
const INDEXED: PhysicalTable = { ...BARE, indexes: [BY_TITLE] }

const database = await freshDatabase(inject('postgresUrl'))
const admin = new pg.Pool({ connectionString: database.url })
afterAll(async () => {
  await admin.end()
  await database.drop()
})

async function indexesOf(schema: string): Promise<readonly object[]> {
  const { rows } = await admin.query(
    `select c.relname as name, i.indisvalid as "isValid" from pg_index i join pg_class c on c.oid = i.indexrelid
      where c.relnamespace = $1::regnamespace and not i.indisprimary`,
    [schema],
  )
  return rows
}

const NAME = indexName(INDEXED, BY_TITLE)
const VALID = [{ name: NAME, isValid: true }]

it('others write while an index is built that waits for an open transaction, whatever their limits of time', async () => {
  await using storage = postgresStorage({ connectionString: database.url, schema: 'beside', timeouts: { statementMs: 1000 } })
  await storage.prepare([BARE])
  await storage.insert('notes', [{ id: 1, title: 'one' }])
  const client = await admin.connect()
  await client.query(`begin; update beside.notes set title = 'uno' where id = 1`)
  let isBuilt = false
  const building = storage.prepare([INDEXED], { besideWriters: true }).then(() => {
    isBuilt = true
  })
  for (let id = 2; id < 30; id++) {
    await storage.insert('notes', [{ id, title: String(id) }])
    await new Promise((wake) => setTimeout(wake, 50))
  }
  expect(isBuilt).toBe(false)
  await client.query('commit')
  client.release()
  await building
  expect(await indexesOf('beside')).toEqual(VALID)
})

it('the rest of a build that was killed is built again, beside writers or not', async () => {
  for (const options of [{}, { besideWriters: true }]) {
    const schema = `killed_${Object.keys(options).length}`
    await using storage = postgresStorage({ connectionString: database.url, schema })
    await storage.prepare([BARE])
    await storage.insert('notes', [
      { id: 1, title: 'same' },
      { id: 2, title: 'same' },
    ])
    await expect(
      admin.query(`create unique index concurrently "${NAME}" on ${schema}.notes (title collate pg_catalog."C")`),
    ).rejects.toMatchObject({ code: '23505' })
    expect(await indexesOf(schema)).toEqual([{ name: NAME, isValid: false }])
    await storage.delete('notes', { ids: [2] })
    await storage.prepare([INDEXED], options)
    expect(await indexesOf(schema)).toEqual(VALID)
  }
})

it('a drop that open transactions keep waiting is unavailable, and nothing is dropped', async () => {
  await using storage = postgresStorage({ connectionString: database.url, schema: 'kept' })
  await storage.prepare([INDEXED])
  const client = await admin.connect()
  await client.query('begin; select * from kept.notes')
  const drop = () => storage.drop([{ kind: 'tables', tables: ['notes'] }], { waitMs: 100 })
  await expect(drop()).rejects.toMatchObject({ code: 'unavailable' })
  await client.query('commit')
  client.release()
  expect(await indexesOf('kept')).toEqual(VALID)
  await drop()
  const { rows } = await admin.query(`select relname from pg_class where relnamespace = 'kept'::regnamespace`)
  expect(rows).toEqual([])
})

it.each([
  ['with sessions', [true, true, true, true, true, true]],
  ['with and without sessions', [true, false, true, false, true, false]],
] as const)('six handles, %s of their own, build the same index at once', async (words, kinds) => {
  const schema = words.replaceAll(' ', '_')
  const handles = kinds.map((preparedStatements) =>
    postgresStorage({ connectionString: database.url, schema, preparedStatements, maxConnections: 1 }),
  )
  const [first] = handles
  await first?.prepare([BARE])
  await first?.insert('notes', [{ id: 1, title: 'one' }])
  // Builds wait for a transaction that is open.
  const client = await admin.connect()
  await client.query(`begin; update ${schema}.notes set title = 'uno' where id = 1`)
  const building = handles.map(async (handle) => {
    await handle.prepare([INDEXED], { besideWriters: true })
    // A pooler's handle may drop what a build of another left, and build it again.
    if (words === 'with sessions') expect(await indexesOf(schema)).toEqual(VALID)
  })
  await new Promise((wake) => setTimeout(wake, 300))
  await client.query('commit')
  client.release()
  await Promise.all(building)
  expect(await indexesOf(schema)).toEqual(VALID)
  for (const handle of handles) await handle.close()
})
