/** The audit chains of transactions of the application: a changed head, a rollback and other open transactions stop none, and chains do not add up. */
import Database from 'better-sqlite3'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { postgresStorage } from '../../../src/adapters/postgres/index.ts'
import { at } from '../../../src/core/util/lists.ts'
import type { StorageHandle } from '../../../src/storage-port.ts'
import { openClients } from '../../support/audit/audited-clients.ts'
import { postgresEngine, sqliteEngine } from '../../support/storages/engines.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const HEADS = 'audit_chains'
const RECORDS = [{ fields: { name: 'a' } }]

async function headsOf(storage: StorageHandle) {
  return storage.find(HEADS, { kind: 'all' }, { order: 'asc', limit: 1000 })
}

/** Flips a bit of every head. */
async function damageHeads(storage: StorageHandle): Promise<void> {
  for (const { id, version, body } of await headsOf(storage)) {
    const bytes = body instanceof Uint8Array ? body : new Uint8Array(1)
    const flipped = bytes.map((byte, index) => (index === 40 ? byte ^ 1 : byte))
    await storage.update(HEADS, [{ id, version, set: { body: flipped } }])
  }
}

describe('on SQLite', () => {
  const engine = sqliteEngine()

  it('a head that was changed does not stop transactions of the application', async () => {
    const place = engine.fresh()
    const storage = place.open()
    const vault = await openClients(storage)
    await vault.as(OWNER).insert('clients', RECORDS)
    await damageHeads(storage)
    const database = new Database(place.address().filename)
    for (let n = 0; n < 2; n++) {
      database.exec('begin immediate')
      await vault.withTransaction(database).as(OWNER).insert('clients', RECORDS)
      database.exec('commit')
    }
    database.close()
    expect((await vault.as(OWNER).get('clients')).records).toHaveLength(3)
    expect(await headsOf(storage)).toHaveLength(2)
  })
})

describe('on PostgreSQL', () => {
  const engine = postgresEngine()

  /** A vault, and clients of the application on its database. */
  async function openWithClients(count: number) {
    const place = engine.fresh()
    const storage = place.open()
    const vault = await openClients(storage)
    const { url } = place.address()
    const clients = await Promise.all(
      Array.from({ length: count }, async () => {
        const client = new pg.Client({ connectionString: url })
        await client.connect()
        return client
      }),
    )
    const insert = (client: pg.Client) => vault.withTransaction(client).as(OWNER).insert('clients', RECORDS)
    const close = async () => void (await Promise.all(clients.map((client) => client.end())))
    return { ...{ place, storage, vault, clients, insert, close }, client: at(clients, 0) }
  }

  it('a head that was changed does not stop transactions of the application', async () => {
    const { storage, vault, client, insert, close } = await openWithClients(1)
    for (let n = 0; n < 3; n++) {
      await client.query('begin')
      await insert(client)
      await client.query('commit')
      if (n === 0) await damageHeads(storage)
    }
    await close()
    expect((await vault.as(OWNER).get('clients')).records).toHaveLength(3)
  })

  it('transactions of the application that roll back do not add chains without end', async () => {
    const { storage, vault, client, insert, close } = await openWithClients(1)
    for (let n = 0; n < 90; n++) {
      await vault.as(OWNER).insert('clients', RECORDS)
      await client.query('begin')
      await insert(client)
      await client.query('rollback')
    }
    await close()
    expect((await headsOf(storage)).length).toBeLessThanOrEqual(66)
    expect(await vault.verifyAudit()).toEqual({ ok: true, eventCount: 90 })
  })

  it('more open transactions than a process watches, and than it tries after a conflict, keep no caller from going on', async () => {
    const { place, vault, clients, insert, close } = await openWithClients(110)
    for (const client of clients) {
      await client.query('begin')
      await insert(client)
    }
    const other = await openClients(place.open())
    await other.as(OWNER).insert('clients', RECORDS)
    await vault.as(OWNER).insert('clients', RECORDS)
    for (const client of clients) await client.query('commit')
    await close()
    expect(await vault.verifyAudit()).toEqual({ ok: true, eventCount: 112 })
  })

  it('a commit does not wait for an open transaction that appends to the same chain', async () => {
    const { place, storage, client, close } = await openWithClients(1)
    const { schema } = { schema: 'strongroom', ...place.address() }
    const joined = postgresStorage({ connectionString: place.address().url, schema })
    const notes = { name: 'notes', columns: [{ name: 'title', type: 'text' }], indexes: [] } as const
    const heads = { name: 'heads', columns: [{ name: 'position', type: 'integer' }], indexes: [] } as const
    for (const one of [storage, joined]) await one.prepare([notes, heads])
    await storage.insert('heads', [{ id: 1, position: 0 }])
    await client.query('begin')
    const host = joined.joinTransaction(client)
    expect(await host.lock({ kind: 'id', table: 'heads', id: 1 })).toBe(true)
    await host.insert('notes', [{ id: 1, title: 'of the application' }])
    const commit = (length: number) =>
      storage.commit({
        updates: [{ table: 'heads', patches: [{ id: 1, version: 1, set: { position: 1 } }] }],
        inserts: [{ table: 'notes', rows: Array.from({ length }, (_, index) => ({ id: index + 1, title: 'of the vault' })) }],
      })
    // In one statement, and in a transaction because it has too many rows for one.
    for (const length of [1, 10_001]) expect(await commit(length)).toBe(false)
    await client.query('rollback')
    expect(await commit(1)).toBe(true)
    await joined.close()
    await close()
  })
})
