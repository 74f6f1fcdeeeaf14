/** Broken connections and servers: the error of the call, and that the next call works. */
import { afterAll, afterEach, expect, inject, it } from 'vitest'
import { type PostgresOptions, postgresStorage } from '../../../src/adapters/postgres/index.ts'
import type { VaultError } from '../../../src/core/errors.ts'
import type { PhysicalTable, StorageHandle } from '../../../src/core/ports/storage.ts'
import { onceWith, startFaultyProxy } from '../../support/postgres/faulty-proxy.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'
import { queryServer } from '../../support/postgres/query-server.ts'
import { startPostgres } from '../../support/postgres/server.ts'

const NOTES: PhysicalTable = {
  name: 'notes',
  columns: [{ name: 'title', type: 'text' }],
  indexes: [{ columns: ['title'], unique: true }],
}

const database = await freshDatabase(inject('postgresUrl'))
const opened: StorageHandle[] = []
afterEach(async () => {
  for (const handle of opened.splice(0)) await handle.close()
})
afterAll(() => database.drop())

async function prepared(options: Partial<PostgresOptions> = {}): Promise<StorageHandle> {
  const storage = postgresStorage({ connectionString: database.url, ...options })
  opened.push(storage)
  await storage.prepare([NOTES])
  return storage
}

/** Ends every other connection to the database, as an administrator would. */
async function endOthers(): Promise<void> {
  await queryServer(
    database.url,
    'select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  )
}

it('a transaction whose backend is terminated throws unavailable, stores nothing, and the next one works', async () => {
  const storage = await prepared()
  const work = storage.transaction(async (storage) => {
    await storage.insert('notes', [{ id: 1, title: 'lost' }])
    await endOthers()
    await storage.insert('notes', [{ id: 2, title: 'never' }])
  })
  await expect(work).rejects.toMatchObject({ code: 'unavailable', grpcCode: 14 })
  await storage.transaction((storage) => storage.insert('notes', [{ id: 3, title: 'kept' }]))
  expect((await storage.get('notes', [1, 2, 3])).map((row) => row?.title)).toEqual([undefined, undefined, 'kept'])
})

it('connections that end while idle are replaced without an error', async () => {
  const storage = await prepared()
  await Promise.all([storage.get('notes', [1]), storage.get('notes', [2]), storage.get('notes', [3])])
  await endOthers()
  await expect.poll(() => storage.get('notes', [9]).catch(() => 'broken')).toEqual([undefined])
})

it('a connection that breaks during COMMIT throws outcome_unknown', async () => {
  const proxy = await startFaultyProxy(database.url)
  proxy.intercept({ fromClient: onceWith('commit\0', 'pass, then cut') })
  const storage = await prepared()
  const cut = postgresStorage({ connectionString: proxy.url })
  opened.push(cut)
  await cut.prepare([NOTES])
  const work = cut.transaction((cut) => cut.insert('notes', [{ id: 20, title: 'who knows' }]))
  await expect(work).rejects.toMatchObject({ code: 'outcome_unknown', message: expect.stringContaining('outcome is unknown') })
  expect((await storage.get('notes', [20])).length).toBe(1)
  await cut.close()
  await proxy.stop()
})

it('a server keeps acknowledged writes after a crash and restart', async () => {
  const server = await startPostgres({ durable: true })
  const storage = await prepared({ connectionString: server.url })
  await storage.insert('notes', [{ id: 1, title: 'acknowledged' }])
  await server.crashAndRestart()
  await expect.poll(() => storage.get('notes', [1]).catch(() => 'broken')).toEqual([{ id: 1, version: 1, title: 'acknowledged' }])
  const [next = 0] = await storage.reserveIds('notes', 1)
  await storage.insert('notes', [{ id: next + 1, title: 'again' }])
  await storage.close()
  await server.stop()
})

it('no error repeats a value that the engine quoted', async () => {
  const storage = await prepared()
  const canary = 'canary-4929'
  await storage.insert('notes', [{ id: 30, title: canary }])
  const errors: VaultError[] = []
  const failing = [
    () => storage.insert('notes', [{ id: 31, title: canary }]),
    () => storage.insert('notes', [{ id: 32 }, { id: 33, title: canary }]),
    () => storage.transaction((storage) => storage.insert('notes', [{ id: 30, title: canary }])),
    () =>
      storage.insert('notes', [
        { id: 34, title: canary.repeat(1000) + Math.sqrt(2) },
        { id: 35, missing: canary },
      ]),
  ]
  for (const fail of failing) await fail().catch((error: VaultError) => errors.push(error))
  expect(errors).toHaveLength(failing.length)
  for (const error of errors) {
    const cause =
      error.cause instanceof Error ? { ...error.cause, message: error.cause.message, stack: error.cause.stack } : undefined
    expect(JSON.stringify({ ...error, message: error.message, stack: error.stack, cause })).not.toContain(canary)
  }
})
