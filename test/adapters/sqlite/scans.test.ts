/** Scans in slices return what one statement returns, on one snapshot, and yield to the event loop; and the turns that they take. */
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toTableShape } from '../../../src/adapters/sql/table-shapes.ts'
import { aggregateRows } from '../../../src/adapters/sqlite/aggregates.ts'
import { createDriverConnection, type TableWork } from '../../../src/adapters/sqlite/connection.ts'
import { betterSqliteDatabase } from '../../../src/adapters/sqlite/drivers.ts'
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import { findRows } from '../../../src/adapters/sqlite/read-rows.ts'
import { createYielder } from '../../../src/adapters/sqlite/scans.ts'
import type { Aggregate, Filter, PhysicalTable, Row, StorageHandle } from '../../../src/core/ports/storage.ts'
import { temporaryFolder } from './temporary-folder.ts'

const nextFile = temporaryFolder()
const ROWS = 60_000

const READINGS: PhysicalTable = {
  name: 'readings',
  columns: [
    { name: 'amount', type: 'integer' },
    { name: 'ratio', type: 'real' },
    { name: 'word', type: 'text' },
    { name: 'mark', type: 'bytes' },
    { name: 'color', type: 'text' },
    { name: 'rank', type: 'integer' },
  ],
  indexes: [
    { columns: ['color'], unique: false },
    { columns: ['rank'], unique: false },
  ],
}

/** Ids with holes: one of a few rows and one of billions. */
function idOf(n: number): number {
  return n < 20_000 ? n + 1 : n < 40_000 ? n * 7 : n + 2 ** 40
}

function readingOf(n: number) {
  return {
    id: idOf(n),
    amount: n % 5 === 0 ? null : n % 1000 === 1 ? 2n ** 61n + BigInt(n) : n % 97,
    ratio: n % 3 === 0 ? null : (n % 64) / 4,
    word: n % 11 === 0 ? '\u{1f600}' : `\uffee${n % 50}`,
    mark: n % 2 === 0 ? null : new Uint8Array([n & 255, n >> 8]),
    color: n % 4 === 0 ? 'red' : 'blue',
    rank: n === 17 ? null : (n * 7919) % ROWS,
  }
}

describe('scans in slices', () => {
  const filename = nextFile()
  let storage: StorageHandle
  let plain: Database.Database

  /** What the bare driver returns. */
  function oneStatement<T>(work: TableWork<T>): T {
    return createDriverConnection(betterSqliteDatabase(plain), 'reading').run(work)
  }
  const shape = toTableShape(READINGS)

  beforeAll(async () => {
    storage = sqliteStorage({ filename, synchronous: 'normal' })
    plain = new Database(filename)
    await storage.prepare([READINGS])
    for (let n = 0; n < ROWS; n += 5000) {
      await storage.insert(
        'readings',
        Array.from({ length: 5000 }, (_, offset) => readingOf(n + offset)),
      )
    }
  })
  afterAll(async () => {
    plain.close()
    await storage.close()
  })

  const filters: readonly Filter[] = [
    { kind: 'all' },
    { kind: 'compare', column: 'amount', operator: '=', value: 13 },
    { kind: 'compare', column: 'amount', operator: '=', value: -1 },
    { kind: 'compare', column: 'color', operator: '=', value: 'red' },
    { kind: 'not', filter: { kind: 'isNull', column: 'mark' } },
    {
      kind: 'and',
      filters: [
        { kind: 'compare', column: 'color', operator: '=', value: 'red' },
        { kind: 'compare', column: 'ratio', operator: '>', value: 15 },
      ],
    },
    { kind: 'in', column: 'id', values: Array.from({ length: 5000 }, (_, n) => idOf(n * 11)) },
    { kind: 'in', column: 'color', values: ['red', 'green'] },
    { kind: 'compare', column: 'color', operator: '>', value: 'blue' },
    {
      kind: 'and',
      filters: [
        { kind: 'compare', column: 'rank', operator: '>', value: 70 },
        { kind: 'compare', column: 'rank', operator: '<', value: 40_000 },
      ],
    },
    {
      kind: 'and',
      filters: [
        { kind: 'compare', column: 'rank', operator: '>', value: 70 },
        { kind: 'compare', column: 'rank', operator: '<', value: 95 },
      ],
    },
    {
      kind: 'and',
      filters: [
        { kind: 'compare', column: 'rank', operator: '<', value: 900 },
        { kind: 'isNull', column: 'mark' },
      ],
    },
    {
      kind: 'or',
      filters: [
        { kind: 'compare', column: 'rank', operator: '<', value: 100 },
        { kind: 'compare', column: 'color', operator: '=', value: 'red' },
      ],
    },
    { kind: 'not', filter: { kind: 'compare', column: 'rank', operator: '>', value: 100 } },
    { kind: 'in', column: 'rank', values: Array.from({ length: 300 }, (_, n) => n * 3) },
    { kind: 'in', column: 'rank', values: Array.from({ length: 5000 }, (_, n) => n * 3) },
  ]

  it('find the rows of one statement, in both orders, after ids and with an offset', async () => {
    const pages = [
      { order: 'asc', limit: 25 },
      { order: 'desc', limit: 25 },
      { order: 'asc', limit: 20, offset: 5000 },
      { order: 'desc', limit: 6000, offset: 1 },
      { order: 'asc', limit: 10, after: idOf(30_000) },
      { order: 'desc', limit: 10, after: idOf(45_000), offset: 7 },
      { order: 'asc', limit: 0 },
    ] as const
    let rows = 0
    for (const filter of filters) {
      for (const page of pages) {
        const sliced = await storage.find('readings', filter, page)
        expect(sliced).toEqual(oneStatement(findRows(shape, filter, page)))
        expect(await storage.transaction((inner) => inner.find('readings', filter, page))).toEqual(sliced)
        rows += sliced.length
      }
    }
    expect(rows).toBeGreaterThan(10_000)
  })

  it('aggregate like one statement', async () => {
    const columns = ['amount', 'ratio', 'word', 'mark', 'color', 'rank', 'id']
    const aggregates = [
      { kind: 'count' } as const,
      ...columns.flatMap((column) => (['count', 'min', 'max'] as const).map((kind) => ({ kind, column }))),
      ...(['amount', 'id'] as const).map((column) => ({ kind: 'sum' as const, column })),
    ] satisfies Aggregate[]
    for (const filter of filters) {
      const whole = oneStatement(aggregateRows({ shape, filter }, aggregates))
      expect(await storage.aggregate('readings', filter, aggregates)).toEqual(whole)
      expect(await storage.transaction((inner) => inner.aggregate('readings', filter, aggregates))).toEqual(whole)
    }
  })

  it('read one snapshot and yield to the event loop', async () => {
    let turns = 0
    let scanning = true
    const transfers = (async () => {
      // Each transfer moves what one row has to another: the sum of every snapshot is the same.
      while (scanning) {
        await new Promise((resolve) => setImmediate(resolve))
        turns++
        const [low, high] = await storage.get('readings', [idOf(1), idOf(ROWS - 1)])
        if (low === undefined || high === undefined) throw new Error('the rows to move between are gone')
        const set = (from: Row, by: bigint) => ({ amount: BigInt(String(from.amount)) + by })
        await storage.update('readings', [
          { id: low.id, version: low.version, set: set(low, 1000n) },
          { id: high.id, version: high.version, set: set(high, -1000n) },
        ])
      }
    })()
    const sums: unknown[] = []
    // How many turns a scan leaves depends on the machine. Without any, the transfers never go on.
    for (let n = 0; n < 30 || (turns <= 8 && n < 1000); n++) {
      sums.push(...(await storage.aggregate('readings', { kind: 'all' }, [{ kind: 'sum', column: 'amount' }, { kind: 'count' }])))
    }
    scanning = false
    await transfers
    expect(new Set(sums).size).toBe(2)
    expect(turns).toBeGreaterThan(8)
    expect((await storage.get('readings', [idOf(1)]))[0]?.version).toBeGreaterThan(2)
  })

  it('run concurrently in any number, and end before the storage closes', async () => {
    const other = sqliteStorage({ filename: nextFile() })
    await other.prepare([READINGS])
    await other.insert('readings', [readingOf(1)])
    const scans = Array.from({ length: 12 }, () =>
      other.aggregate('readings', { kind: 'isNull', column: 'mark' }, [{ kind: 'count' }]),
    )
    const closing = other.close()
    expect(await Promise.all(scans)).toEqual(Array.from({ length: 12 }, () => [0]))
    await closing
  })
})

describe('createYielder', () => {
  it('gives each caller of ownTurn another turn, in which others run in between', async () => {
    const yielder = createYielder()
    const order: string[] = []
    const own = ['first', 'second', 'third'].map((name) => yielder.ownTurn().then(() => order.push(name)))
    const pushOther = (): void => {
      order.push('other')
      if (order.length < 6) setImmediate(pushOther)
    }
    setImmediate(pushOther)
    await Promise.all(own)
    expect(order).toEqual(['other', 'first', 'other', 'second', 'other', 'third'])
  })

  it('lets all callers of yield go on in one turn', async () => {
    const yielder = createYielder()
    const order: string[] = []
    const both = ['first', 'second'].map((name) => yielder.yield().then(() => order.push(name)))
    const last = new Promise<void>((resolve) =>
      setImmediate(() => {
        order.push('other')
        resolve()
      }),
    )
    await Promise.all([...both, last])
    expect(order).toEqual(['first', 'second', 'other'])
  })
})
