/** Rows read packed equal rows read one by one, wherever they are read, and only reads that gain are packed. */
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { afterAll, afterEach, describe, expect, inject, it } from 'vitest'
import { type PostgresOptions, postgresStorage } from '../../../src/adapters/postgres/index.ts'
import type { Filter, NewRow, PhysicalTable, Storage, StorageHandle } from '../../../src/core/ports/storage.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'
import { queryServer } from '../../support/postgres/query-server.ts'

const database = await freshDatabase(inject('postgresUrl'))
afterAll(() => database.drop())

const NOTES: PhysicalTable = {
  name: 'notes',
  columns: [
    { name: 'body', type: 'bytes' },
    { name: 'text', type: 'text' },
    { name: 'amount', type: 'integer' },
    { name: 'rate', type: 'real' },
  ],
  indexes: [],
}

const EVERY: Filter = { kind: 'all' }
const COUNT = 150
const IDS = Array.from({ length: COUNT }, (_, at) => at + 1)
/** Longer than any cell that is packed. */
const LONG = 5000

/** Every byte occurs, and every kind of cell is missing in some row. */
function noteOf(id: number): NewRow {
  return {
    id,
    body: id % 7 === 0 ? null : Uint8Array.from({ length: id * 2 }, (_, at) => (at + id) & 0xff),
    text: id % 5 === 0 ? null : `ß\u0000\u0001${id}`,
    amount: id % 3 === 0 ? null : 2n ** 62n + BigInt(id),
    rate: id % 4 === 0 ? null : 1 / id,
  }
}

const NOTES_STORED = IDS.map((id) => ({ ...noteOf(id), version: 1 }))

let schemas = 0
const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** A client that keeps the text of each statement, and counts the rows of each result. */
class CountingClient extends pg.Client {
  static texts: string[] = []
  static counts: number[] = []

  override query(...given: unknown[]): never {
    const [first] = given
    if (typeof first === 'object' && first !== null && 'text' in first) CountingClient.texts.push(String(first.text))
    // The overloads of the driver cannot be called with arguments that are passed on.
    const result: unknown = Reflect.apply(super.query, this, given)
    if (result instanceof Promise) {
      result.then(
        ({ rows }: pg.QueryResult) => CountingClient.counts.push(rows?.length ?? 0),
        () => {},
      )
    }
    return result as never
  }
}

async function filled(
  options?: Partial<PostgresOptions>,
  url = database.url,
): Promise<{ storage: StorageHandle; pool: pg.Pool; schema: string }> {
  const pool = new pg.Pool({ connectionString: url, Client: CountingClient, max: 2 })
  const schema = `packed_${schemas++}`
  const storage = postgresStorage({ pool, schema, ...options })
  closing.push(() => pool.end())
  await storage.prepare([NOTES])
  await storage.insert('notes', IDS.map(noteOf))
  return { storage, pool, schema }
}

async function expectAllReads(storage: Storage): Promise<void> {
  expect(await storage.get('notes', IDS)).toEqual(NOTES_STORED)
  expect(await storage.find('notes', EVERY, { order: 'desc', limit: 100, offset: 3 })).toEqual(
    NOTES_STORED.toReversed().slice(3, 103),
  )
  const columns = ['rate']
  const rates = await storage.find('notes', EVERY, { order: 'asc', limit: 200, columns })
  expect(rates).toEqual(IDS.map((id) => ({ id, version: 1, rate: noteOf(id).rate })))
}

/** The number of rows in each result that the server returns while work runs. */
async function countRows(work: () => Promise<unknown>): Promise<readonly number[]> {
  CountingClient.counts = []
  await work()
  return CountingClient.counts
}

describe('rows read packed', () => {
  it('are equal with and without prepared statements, and inside transactions', async () => {
    for (const preparedStatements of [true, false]) {
      const { storage } = await filled({ preparedStatements })
      await expectAllReads(storage)
      await storage.transaction(expectAllReads)
      await storage.transaction((outer) => outer.transaction(expectAllReads))
    }
  })

  it('are equal inside transactions of an application, of a client and of Kysely', async () => {
    const { storage, pool } = await filled()
    const client = await pool.connect()
    await client.query('begin isolation level repeatable read')
    await expectAllReads(storage.joinTransaction(client))
    await client.query('commit')
    client.release()
    const kysely = new Kysely<Record<string, never>>({ dialect: new PostgresDialect({ pool }) })
    await kysely.transaction().execute((transaction) => expectAllReads(storage.joinTransaction(transaction)))
  })

  it('are equal in a database whose text is not UTF-8', async () => {
    const latin = await freshDatabase(database.url, "encoding 'LATIN1' locale 'C'")
    closing.push(() => latin.drop())
    // A vault that exists goes on in such a database: with a table of its schema it does.
    const schema = `packed_${schemas}`
    await queryServer(latin.url, `create schema ${schema}`)
    await queryServer(latin.url, `create table ${schema}.earlier (id bigint)`)
    const { storage } = await filled({}, latin.url)
    await expectAllReads(storage)
  })

  it('contain separate arrays, so that writing into one changes no other', async () => {
    const { storage } = await filled()
    const read = await storage.get('notes', [...IDS, 1])
    for (const row of read) {
      if (row?.id !== 1 && row?.body !== null) expect(row?.body).toEqual(noteOf(row?.id ?? 0).body)
      if (!(row?.body instanceof Uint8Array)) continue
      expect(Object.getPrototypeOf(row.body)).toBe(Uint8Array.prototype)
      row.body.fill(0)
    }
  })

  it('equal those read one by one even where the database holds what no vault writes', async () => {
    const { storage, pool, schema } = await filled()
    await pool.query(`alter table ${schema}.notes alter column version drop not null`)
    await pool.query(`insert into ${schema}.notes (id, version) values (-5, null), (9007199254740993, 9007199254740993), (0, -1)`)
    const packed = await storage.find('notes', EVERY, { order: 'asc', limit: 200 })
    // A limit of this size is not packed.
    expect(packed).toEqual(await storage.find('notes', EVERY, { order: 'asc', limit: 100_000 }))
    expect(packed).toHaveLength(COUNT + 3)
  })

  it('equal those read one by one where the database holds cells at the bounds of their types, and text no vault writes', async () => {
    const { storage, pool, schema } = await filled()
    const odd = {
      body: ["''", String.raw`'\xffffffff'`, `decode(repeat('ff', 2048), 'hex')`],
      text: ["''", String.raw`E'\x01'`, String.raw`E'\x01\x01\x01\x02\x03'`, `repeat('ß', 1024)`, String.raw`U&'\FFFE'`],
      amount: ['-9223372036854775808', '9223372036854775807', '9007199254740992', '-9007199254740993', '4294967296'],
      rate: ["'NaN'", "'Infinity'", "'-Infinity'", "'-0'", '5e-324', '1.7976931348623157e308'],
    }
    const cells = Object.entries(odd).flatMap(([column, texts]) => texts.map((text) => ({ column, text })))
    for (const [at, { column, text }] of cells.entries()) {
      await pool.query(`insert into ${schema}.notes (id, version, ${column}) values (${COUNT + 1 + at}, 1, ${text})`)
    }
    const packed = await storage.find('notes', EVERY, { order: 'asc', limit: 500 })
    expect(packed).toEqual(await storage.find('notes', EVERY, { order: 'asc', limit: 100_000 }))
    expect(packed).toHaveLength(COUNT + cells.length)
    const ids = packed.map(({ id }) => id)
    expect(await storage.get('notes', ids)).toEqual(packed)
  })
})

describe('packing', () => {
  it('is used for many rows, not for few nor for pages that stay nearly empty', async () => {
    const { storage } = await filled()
    expect(await countRows(() => storage.get('notes', IDS.slice(0, 100)))).toEqual([1])
    expect(await countRows(() => storage.find('notes', EVERY, { order: 'asc', limit: 140 }))).toEqual([1])
    expect(await countRows(() => storage.get('notes', IDS.slice(0, 10)))).toEqual([10])
    expect(await countRows(() => storage.find('notes', EVERY, { order: 'asc', limit: 10 }))).toEqual([10])
    expect(await countRows(() => storage.find('notes', EVERY, { order: 'asc', limit: 100_000 }))).toEqual([COUNT])
    // A packed result has one row even if it holds none.
    const equal = { kind: 'compare', column: 'amount', operator: '=', value: 1 } as const
    const few = { kind: 'in', column: 'amount', values: [1, 2] } as const
    for (const filter of [equal, few, { kind: 'and', filters: [EVERY, equal] }, { kind: 'or', filters: [equal, few] }] as const) {
      expect(await countRows(() => storage.find('notes', filter, { order: 'asc', limit: 140 }))).toEqual([0])
    }
    const many = { kind: 'in', column: 'id', values: IDS } as const
    expect(await countRows(() => storage.find('notes', many, { order: 'asc', limit: 140 }))).toEqual([1])
  })

  it('is left for a while after it met a cell too long for it', async () => {
    const { storage } = await filled()
    await storage.insert('notes', [{ id: 1000, body: new Uint8Array(LONG) }])
    expect(await countRows(() => storage.get('notes', [...IDS, 1000]))).toEqual([2, COUNT + 1])
    const reads: number[] = []
    for (let round = 0; round < 101; round++) reads.push(...(await countRows(() => storage.get('notes', IDS))))
    expect(reads).toEqual([...Array.from({ length: 100 }, () => COUNT), 2])
  })

  it('cuts a long list into parts, which return the rows of every id once, in the order of the list', async () => {
    const { storage } = await filled()
    // Of 6 columns with id and version, so many ids are packed at most.
    for (const length of [127, 128, 129, 256, 257, 512, 513, 682]) {
      // Repeated within a part and across parts, and of rows that do not exist.
      const ids = Array.from({ length }, (_, at) => 1 + ((at * 37) % (COUNT + 20)))
      const parts = 2 ** Math.ceil(Math.log2(Math.max(1, length / 128)))
      const read = await countRows(async () => {
        expect(await storage.get('notes', ids)).toEqual(ids.map((id) => NOTES_STORED[id - 1]))
      })
      expect(read).toEqual([parts])
    }
    expect(await storage.get('notes', [...IDS.slice(0, 100), ...Array.from({ length: 100 }, (_, at) => 5000 + at)])).toEqual([
      ...NOTES_STORED.slice(0, 100),
      ...Array.from({ length: 100 }, () => undefined),
    ])
    expect(
      await storage.get(
        'notes',
        Array.from({ length: 300 }, (_, at) => 5000 + at),
      ),
    ).toEqual(new Array(300).fill(undefined))
  })

  it('finds the rows of every id in lists of any order, with ids that no vault makes', async () => {
    const { storage, pool, schema } = await filled()
    const odd = [-5, -7, 0, Number.MAX_SAFE_INTEGER, 2 ** 32, 2 ** 32 - 1, 2 ** 31]
    await pool.query(`insert into ${schema}.notes (id, version) select i, 1 from unnest($1::int8[]) i`, [odd])
    const empty = { version: 1, body: null, text: null, amount: null, rate: null }
    const known = [...NOTES_STORED, ...odd.map((id) => ({ id, ...empty }))]
    for (const ids of [known.map(({ id }) => id), known.map(({ id }) => id).toReversed(), [...odd, 2 ** 53, 0.5, ...IDS]]) {
      expect(await storage.get('notes', ids)).toEqual(ids.map((id) => known.find((row) => row.id === id)))
    }
  })

  it('is planned for the parts of its list, so that the server does not compile the statement first', async () => {
    const { storage, pool, schema } = await filled()
    await pool.query(
      `insert into ${schema}.notes (id, version) select i, 1 from generate_series(2000, 60000) i; analyze ${schema}.notes`,
    )
    CountingClient.texts = []
    await storage.get('notes', IDS)
    const client = await pool.connect()
    // The plan of a prepared statement that has run some times.
    await client.query(`set plan_cache_mode = 'force_generic_plan'; prepare many as ${CountingClient.texts[0]}`)
    const { rows } = await client.query(`explain (format json) execute many ('{1,2}')`)
    client.release(true)
    const [{ Plan: plan }] = rows[0]['QUERY PLAN']
    // The setting jit_above_cost is 100,000 by default.
    expect(plan['Total Cost']).toBeLessThan(50_000)
  })
})
