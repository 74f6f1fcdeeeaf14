/** Connections whose prepared statements the application has dropped: nothing fails, and they are replaced. */
import pg from 'pg'
import { afterAll, expect, inject, it, onTestFinished } from 'vitest'
import { postgresStorage } from '../../../src/adapters/postgres/index.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'
import { OWNER, openPeople } from '../../support/vaults/test-vault.ts'

const database = await freshDatabase(inject('postgresUrl'))
const SIZE = 10
const pool = new pg.Pool({ connectionString: database.url, max: SIZE })
const vault = await openPeople(postgresStorage({ pool }))
const session = vault.as(OWNER)
afterAll(async () => {
  await vault.close()
  await pool.end()
  await database.drop()
})

/** Runs a statement on every connection of the pool, and returns their backends. */
async function onEach(text: string): Promise<ReadonlySet<number>> {
  const clients = await Promise.all(Array.from({ length: SIZE }, () => pool.connect()))
  const backends = new Set<number>()
  for (const client of clients) {
    backends.add((await client.query('select pg_backend_pid() as id')).rows[0].id)
    await client.query(text)
    client.release()
  }
  return backends
}

async function insert(name: string): Promise<string> {
  return (await session.insert('people', [{ fields: { name } }])).records[0]?.id ?? ''
}

/** One call of each way to a connection: a statement alone, a commit, a transaction. */
async function useAll(id: string): Promise<unknown> {
  return Promise.all([
    session.getOne('people', id),
    insert('Ada'),
    session.updateOne('people', id, { salary: 7 }),
    vault.transaction((inside) => inside.as(OWNER).insert('people', [{ fields: { name: 'Grace' } }])),
    session.query('select count(*) from people'),
  ])
}

for (const text of ['discard all', 'deallocate all']) {
  it(`no call fails after ${text} on every connection of a shared pool, and those are replaced`, async () => {
    const id = await insert('Kay')
    await Promise.all(Array.from({ length: 4 }, () => useAll(id)))
    const before = await onEach(text)
    await useAll(id)
    await Promise.all(Array.from({ length: 4 }, () => useAll(id)))
    const kept = [...(await onEach('select 1'))].filter((backend) => before.has(backend))
    expect(kept.length).toBeLessThan(SIZE)
    expect(await vault.verifyAudit()).toMatchObject({ ok: true })
  })
}

it('no call fails while the application drops the statements of whatever connection it gives back', async () => {
  const id = await insert('Kay')
  let isOver = false
  const host = (async () => {
    while (!isOver) {
      const client = await pool.connect()
      await client.query('discard all')
      client.release()
    }
  })()
  for (let round = 0; round < 20; round++) await useAll(id)
  isOver = true
  await host
})

it('a transaction of the application on such a client is aborted once, and runs again', async () => {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  onTestFinished(() => client.end())
  const inTransaction = async (): Promise<void> => {
    await client.query('begin')
    try {
      await vault
        .withTransaction(client)
        .as(OWNER)
        .insert('people', [{ fields: { name: 'Mary' } }])
      await client.query('commit')
    } catch (error) {
      await client.query('rollback')
      throw error
    }
  }
  await inTransaction()
  await client.query('discard all')
  await expect(inTransaction()).rejects.toMatchObject({ code: 'aborted', message: expect.stringContaining('DISCARD ALL') })
  for (let round = 0; round < 3; round++) {
    await inTransaction()
    await client.query('discard all')
  }
  expect(await vault.verifyAudit()).toMatchObject({ ok: true })
})
