/** Transactions that change the same rows wait for each other in one direction only, so that none is ended by a deadlock. */
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, inject, it } from 'vitest'
import { postgresStorage } from '../../../src/adapters/postgres/index.ts'
import type { PhysicalTable } from '../../../src/core/ports/storage.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'
import { queryServer } from '../../support/postgres/query-server.ts'
import { openTrialVault, trialCaller } from '../../support/trials/trial-vault.ts'

const NOTES: PhysicalTable = {
  name: 'notes',
  columns: [
    { name: 'title', type: 'text' },
    { name: 'amount', type: 'integer' },
    { name: 'rate', type: 'real' },
  ],
  indexes: [{ columns: ['title'], unique: true }],
}
const HEADS: PhysicalTable = { name: 'heads', columns: [{ name: 'position', type: 'integer' }], indexes: [] }

const database = await freshDatabase(inject('postgresUrl'))
const storage = postgresStorage({ connectionString: database.url })
const other = postgresStorage({ connectionString: database.url })

beforeAll(async () => {
  await storage.prepare([NOTES, HEADS])
  await other.prepare([NOTES, HEADS])
})
beforeEach(async () => {
  await storage.delete('notes', { filter: { kind: 'all' } })
  await storage.delete('heads', { filter: { kind: 'all' } })
})
afterAll(async () => {
  await storage.close()
  await other.close()
  await database.drop()
})

/** Returns when so many transactions of the database wait for others. */
async function untilWaiting(transactions: number): Promise<void> {
  const text = `select count(*)::int as count from pg_locks as l join pg_stat_activity as a on a.pid = l.pid
    where not l.granted and a.datname = current_database()`
  for (let poll = 0; poll < 1000; poll++) {
    const [row] = await queryServer<{ count: number }>(database.url, text)
    if (row?.count === transactions) return
    await pause(5)
  }
  throw new Error(`there are never ${transactions} transactions that wait`)
}

it('a commit in one statement inserts its rows before it locks the row that it patches, as a transaction does', async () => {
  await storage.insert('heads', [{ id: 1, position: 0 }])
  let runs = 0
  let waiting: Promise<unknown> = Promise.resolve()
  await storage.transaction(async (inner) => {
    runs++
    await inner.insert('notes', [{ id: 1, title: 'equal' }])
    waiting = other
      .commit({
        updates: [{ table: 'heads', patches: [{ id: 1, version: 1, set: { position: 2 } }] }],
        inserts: [{ table: 'notes', rows: [{ id: 2, title: 'equal' }] }],
      })
      .catch((error: unknown) => error)
    await untilWaiting(1)
    expect(await inner.update('heads', [{ id: 1, version: 1, set: { position: 1 } }])).toEqual([true])
  })
  expect(await waiting).toMatchObject({ code: 'conflict' })
  expect(runs).toBe(1)
})

it('who waits for a row goes on when the savepoint that changed it is rolled back, not only when the transaction ends', async () => {
  await storage.insert('notes', [{ id: 1 }, { id: 2 }])
  const patches = [
    { id: 1, version: 1, set: { amount: 1 } },
    { id: 2, version: 1, set: { rate: 1 } },
  ]
  let waiting: Promise<unknown> = Promise.resolve()
  await storage.transaction(async (inner) => {
    const rolledBack = inner.transaction(async (nested) => {
      await nested.update('notes', patches)
      waiting = other.update('notes', [{ id: 1, version: 1, set: { amount: 2 } }])
      await untilWaiting(1)
      throw new Error('rolled back')
    })
    await expect(rolledBack).rejects.toThrow('rolled back')
    await untilWaiting(0)
    // Now this transaction can wait for that one, too, without a deadlock.
    expect(await inner.update('notes', patches)).toEqual([false, true])
  })
  expect(await waiting).toEqual([true])
})

it('a deletion of several rows locks them in the order of their ids, as an update does', async () => {
  await storage.insert('notes', [{ id: 1 }, { id: 2 }, { id: 3 }])
  // The server reads rows in the order of their newest versions: 2, 3, 1.
  await storage.update('notes', [{ id: 1, version: 1, set: { amount: 1 } }])
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  try {
    await client.query('begin; select 1 from strongroom.notes where id = 3 for update')
    let runs = 0
    const deleting = storage.transaction((inner) => {
      runs++
      return inner.delete('notes', { ids: [3, 2, 1] })
    })
    await untilWaiting(1)
    const locking = other.transaction(async (inner) => {
      runs++
      await inner.lock({ kind: 'rows', table: 'notes', ids: [3, 1] })
      return (await inner.get('notes', [1, 3])).length
    })
    await untilWaiting(2)
    await client.query('commit')
    expect(await deleting).toEqual([1, 2, 3])
    expect(await locking).toBe(2)
    expect(runs).toBe(2)
  } finally {
    await client.end()
  }
})

it('a transaction of the application that begins an audit chain keeps no other process waiting', async () => {
  const place = await freshDatabase(inject('postgresUrl'))
  const handles = [postgresStorage({ connectionString: place.url }), postgresStorage({ connectionString: place.url })] as const
  const pool = new pg.Pool({ connectionString: place.url })
  const client = await pool.connect()
  try {
    const vaults = [await openTrialVault(handles[0]), await openTrialVault(handles[1])] as const
    await client.query('begin')
    await vaults[0]
      .withTransaction(client)
      .as(trialCaller('host'))
      .insert('accounts', [{ fields: { login: 'host' } }])
    await vaults[1].as(trialCaller('other')).insert('accounts', [{ fields: { login: 'other' } }])
    await client.query('commit')
    expect(await vaults[1].verifyAudit()).toMatchObject({ ok: true })
    const { records } = await vaults[1].as(trialCaller('check')).get('accounts')
    expect(records.map(({ fields }) => fields.login).sort()).toEqual(['host', 'other'])
  } finally {
    client.release()
    await pool.end()
    for (const handle of handles) await handle.close()
    await place.drop()
  }
})
