/** Small inserts that come at once travel together, and yet each caller is answered as if alone. */
import pg from 'pg'
import { afterAll, afterEach, expect, inject, it } from 'vitest'
import { postgresStorage } from '../../../src/adapters/postgres/index.ts'
import type { DriverPool, PooledClient } from '../../../src/adapters/postgres/postgres-driver.ts'
import type { NewRow, PhysicalTable } from '../../../src/core/ports/storage.ts'
import { freshDatabase } from '../../support/fresh-database.ts'

const database = await freshDatabase(inject('postgresUrl'))
afterAll(() => database.drop())

const CARDS: PhysicalTable = {
  name: 'cards',
  columns: [
    { name: 'owner', type: 'text' },
    { name: 'body', type: 'bytes' },
  ],
  indexes: [{ columns: ['owner'], unique: true }],
}

const pools: pg.Pool[] = []
afterEach(async () => {
  for (const pool of pools.splice(0)) await pool.end()
})

let schemas = 0

/** A prepared storage, with the texts of all statements sent since. `beforeQuery` may spoil one. */
async function openCounted(beforeQuery: (client: pg.PoolClient, text: string) => void = () => {}) {
  const inner = new pg.Pool({ connectionString: database.url })
  inner.on('connect', (client) => client.on('error', () => {}))
  pools.push(inner)
  const sent: string[] = []
  const pool: DriverPool = {
    async connect() {
      const raw = await inner.connect()
      const client: PooledClient = raw
      return {
        query(query) {
          sent.push(query.text)
          beforeQuery(raw, query.text)
          return client.query(query)
        },
        release: (destroy) => client.release(destroy),
        on: (event, listener) => client.on(event, listener),
        removeListener: (event, listener) => client.removeListener(event, listener),
      }
    },
  }
  const storage = postgresStorage({ pool, schema: `together_${schemas++}` })
  await storage.prepare([CARDS])
  sent.length = 0
  return { storage, sent }
}

const rowOf = (id: number): NewRow => ({ id, owner: `owner ${id}`, body: Uint8Array.of(id) })

it('64 callers need one statement, and each finds its own row', async () => {
  const { storage, sent } = await openCounted()
  const ids = Array.from({ length: 64 }, (_, at) => at + 1)
  await Promise.all(ids.map((id) => storage.insert('cards', [rowOf(id)])))
  expect(sent).toHaveLength(1)
  expect(await storage.get('cards', ids)).toEqual(ids.map((id) => ({ ...rowOf(id), version: 1 })))
})

it('whoever was alone goes at once, and only those who come while he is under way share a statement', async () => {
  const { storage, sent } = await openCounted()
  await storage.insert('cards', [rowOf(1)])
  await Promise.all([2, 3, 4].map((id) => storage.insert('cards', [rowOf(id)])))
  await Promise.all([5, 6, 7].map((id) => storage.insert('cards', [rowOf(id)])))
  expect(sent).toHaveLength(1 + 2 + 1)
})

it('of 64 callers the three that conflict fail alone, each with the column and the position in its own rows', async () => {
  const { storage } = await openCounted()
  await storage.insert('cards', [{ id: 1000, owner: 'taken' }])
  const wrong = new Map<number, readonly NewRow[]>([
    [7, [{ id: 7, owner: 'taken' }]],
    [20, [rowOf(20), { id: 120 }, { id: 220, owner: 'taken' }]],
    [41, [rowOf(41), { id: 1000 }]],
  ])
  const callers = Array.from({ length: 64 }, (_, at) => at + 1)
  const outcomes = await Promise.allSettled(callers.map((id) => storage.insert('cards', wrong.get(id) ?? [rowOf(id)])))
  const failures = outcomes.flatMap((outcome, at) => (outcome.status === 'rejected' ? [[at + 1, outcome.reason.facts]] : []))
  expect(failures).toEqual([
    [7, { table: 'cards', columns: ['owner'], index: 0 }],
    [20, { table: 'cards', columns: ['owner'], index: 2 }],
    [41, { table: 'cards', columns: ['id'], index: 1 }],
  ])
  const rows = await storage.find('cards', { kind: 'every' }, { order: 'up', limit: 1000 })
  expect(rows.map(({ id }) => id)).toEqual([...callers.filter((id) => !wrong.has(id)), 1000])
})

it('of callers who bring the same unique value at once exactly one wins', async () => {
  const { storage } = await openCounted()
  const outcomes = await Promise.allSettled([1, 2, 3, 4].map((id) => storage.insert('cards', [{ id, owner: 'same' }])))
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect(await storage.measure('cards', { kind: 'every' }, [{ kind: 'count' }])).toEqual([1])
})

it('a row that cannot be written down fails its caller and nobody else', async () => {
  const { storage } = await openCounted()
  const good = [storage.insert('cards', [rowOf(1)]), storage.insert('cards', [rowOf(3)])]
  const bad = storage.insert('cards', [{ id: 2, no_such_column: 'x' }])
  await expect(bad).rejects.toMatchObject({ code: 'internal', facts: { column: 'no_such_column' } })
  await Promise.all(good)
  expect((await storage.get('cards', [1, 2, 3])).map((row) => row?.id)).toEqual([1, undefined, 3])
})

it('nobody is sent a second time when the connection is lost on the way', async () => {
  const { storage, sent } = await openCounted((client, text) => {
    if (text.startsWith('insert')) void client.end()
  })
  const outcomes = await Promise.allSettled([1, 2, 3].map((id) => storage.insert('cards', [rowOf(id)])))
  for (const outcome of outcomes) expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'unavailable' } })
  expect(sent).toHaveLength(1)
})

it('more rows than one statement takes make several, and large calls go by themselves', async () => {
  const { storage, sent } = await openCounted()
  const many = Array.from({ length: 300 }, (_, at) => storage.insert('cards', [{ id: at + 1 }]))
  const wide = Array.from({ length: 17 }, (_, at) => ({ id: at + 1001 }))
  const long = { id: 2000, body: new Uint8Array(100_000) }
  await Promise.all([...many, storage.insert('cards', wide), storage.insert('cards', [long]), storage.insert('cards', [])])
  // 256 + 44, the wide one, the long one
  expect(sent).toHaveLength(4)
  expect(await storage.measure('cards', { kind: 'every' }, [{ kind: 'count' }])).toEqual([318])
})

it('inside a transaction every insert is a statement of its own and goes when it is undone', async () => {
  const { storage } = await openCounted()
  const undone = storage.transaction(async (storage) => {
    await Promise.all([storage.insert('cards', [rowOf(1)]), storage.insert('cards', [rowOf(2)])])
    throw new Error('undo')
  })
  await Promise.all([storage.insert('cards', [rowOf(3)]), expect(undone).rejects.toThrow('undo')])
  expect((await storage.get('cards', [1, 2, 3])).map((row) => row?.id)).toEqual([undefined, undefined, 3])
})

it('close waits for the inserts begun before it and refuses later ones', async () => {
  const storage = postgresStorage({ connectionString: database.url, schema: `together_${schemas++}`, maxConnections: 1 })
  await storage.prepare([CARDS])
  let stored = 0
  const begun = [1, 2, 3].map((id) => storage.insert('cards', [rowOf(id)]).then(() => stored++))
  const closed = storage.close()
  await expect(storage.insert('cards', [rowOf(4)])).rejects.toMatchObject({ code: 'unavailable' })
  await closed
  expect(stored).toBe(3)
  await Promise.all(begun)
})
