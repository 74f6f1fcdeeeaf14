/** How scans read a file: no slice reads an index again, and a range that finds few rows is read by its index whatever the size of the table. */
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTableShapes } from '../../../src/adapters/sql/table-shapes.ts'
import { createDriverConnection, type Step, type TableWork } from '../../../src/adapters/sqlite/connection.ts'
import { betterSqliteDatabase } from '../../../src/adapters/sqlite/drivers.ts'
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import { createReads, type Reader } from '../../../src/adapters/sqlite/reads.ts'
import { createYielder } from '../../../src/adapters/sqlite/scans.ts'
import type { Filter, Page, PhysicalTable, Storage } from '../../../src/core/ports/storage.ts'
import { temporaryFolder } from './temporary-folder.ts'

const nextFile = temporaryFolder()
const ROWS = 200_000

const EVENTS: PhysicalTable = {
  name: 'events',
  columns: [
    { name: 'at', type: 'integer' },
    { name: 'kind', type: 'integer' },
    { name: 'body', type: 'bytes' },
  ],
  indexes: [
    { columns: ['at'], unique: false },
    { columns: ['kind'], unique: false },
  ],
}

/** A statement that ran, as SQLite plans it with these parameters. */
interface Ran {
  readonly plan: string
  readonly parameters: readonly unknown[]
}

describe('the path of a scan', () => {
  const filename = nextFile()
  let file: Database.Database
  let reads: Pick<Storage, 'find' | 'scan' | 'aggregate'>
  let ran: Ran[] = []

  beforeAll(async () => {
    const storage = sqliteStorage({ filename, synchronous: 'normal' })
    await storage.prepare([EVENTS])
    const body = new Uint8Array(20)
    for (let n = 0; n < ROWS; n += 10_000) {
      await storage.insert(
        'events',
        Array.from({ length: 10_000 }, (_, k) => ({ id: n + k + 1, at: (n + k) * 1000, kind: (n + k) % 3, body })),
      )
    }
    await storage.close()
    file = new Database(filename)
    const shapes = createTableShapes()
    shapes.add([EVENTS])
    const connection = createDriverConnection(betterSqliteDatabase(file), 'reading')
    const run = <T>(work: TableWork<T>): T => connection.run(watched(work))
    const yielder = createYielder()
    const scan: Reader['scan'] = (slices) => slices(run)
    reads = createReads(shapes, { yielder, read: run, scan, scanCache: scan })
  })
  afterAll(() => file.close())

  /** The same work, whose statements are explained before they run. */
  function watched<T>(work: TableWork<T>): TableWork<T> {
    return {
      shape: work.shape,
      *begin() {
        const steps = work.begin()
        let at = steps.next()
        while (at.done !== true) {
          ran.push({ plan: planOf(at.value), parameters: at.value.parameters })
          at = steps.next(yield at.value)
        }
        return at.value
      },
    }
  }

  function planOf({ statement, parameters }: Step): string {
    const lines = file.prepare(`explain query plan ${statement.text}`).all(...parameters) as { detail: string }[]
    return lines.map(({ detail }) => detail).join('; ')
  }

  async function plansOf(read: () => Promise<unknown>): Promise<string[]> {
    ran = []
    await read()
    return ran.map(({ plan }) => plan)
  }

  const between = (low: number, high: number): Filter => ({
    kind: 'and',
    filters: [
      { kind: 'compare', column: 'at', operator: '>', value: low },
      { kind: 'compare', column: 'at', operator: '<', value: high },
    ],
  })
  const WIDE = between(0, ROWS * 1000)
  const NARROW = between((ROWS - 300) * 1000, ROWS * 1000)
  const BY_AT = /^SEARCH t USING (COVERING )?INDEX events\.at\.index \(at>\? AND at<\?\)/
  const BY_IDS = /^SCAN json_each .*SEARCH t USING INTEGER PRIMARY KEY \(rowid=\?\)/

  const pages: readonly Page[] = [
    { order: 'asc', limit: 500 },
    { order: 'desc', limit: 500 },
    { order: 'asc', limit: 100, offset: 100 },
    { order: 'desc', limit: 25, offset: 3, columns: [] },
    { order: 'asc', limit: 50, after: ROWS - 100 },
    { order: 'desc', limit: 50, after: ROWS - 100, offset: 7 },
    { order: 'asc', limit: 50, after: ROWS },
  ]

  it('of a part of a column is a range of ids, after the next id was looked up', async () => {
    const filter: Filter = { kind: 'compare', column: 'body', operator: '<>', value: new Uint8Array(1) }
    for (const some of [{ kind: 'all' } as const, filter]) {
      const plans = await plansOf(async () => {
        const part = await reads.scan('events', some, { shape: 'column', column: 'at', after: 700, limit: 1000 })
        expect(part).toMatchObject({ cells: { length: 1000 }, next: 1700 })
      })
      expect(plans).toEqual([
        expect.stringMatching(/^SEARCH t USING INTEGER PRIMARY KEY \(rowid>\?\)/),
        expect.stringMatching(/^SEARCH t USING INTEGER PRIMARY KEY \(rowid>\? AND rowid<\?\)$/),
      ])
    }
  })

  it('of a part of a column in a narrow range is its index', async () => {
    const plans = await plansOf(async () => {
      const part = await reads.scan('events', NARROW, { shape: 'column', column: 'kind', limit: 4096 })
      expect(part).toMatchObject({ cells: { length: 299 }, next: undefined })
    })
    expect(plans[0]).toMatch(BY_AT)
    for (const plan of plans.slice(1)) expect(plan).toMatch(BY_IDS)
  })

  const few: Readonly<Record<string, readonly [filter: Filter, cells: number]>> = {
    'one id': [{ kind: 'compare', column: 'id', operator: '=', value: ROWS - 5 }, 1],
    'some ids': [{ kind: 'in', column: 'id', values: [7, 100_000, ROWS, ROWS + 1] }, 3],
    'one of two ids': [
      {
        kind: 'or',
        filters: [
          { kind: 'compare', column: 'id', operator: '=', value: 3 },
          { kind: 'compare', column: 'id', operator: '=', value: ROWS },
        ],
      },
      2,
    ],
    'one value of an index': [{ kind: 'compare', column: 'at', operator: '=', value: 150_000_000 }, 1],
    'no row': [{ kind: 'or', filters: [] }, 0],
    'no row of an index': [
      {
        kind: 'and',
        filters: [
          { kind: 'compare', column: 'kind', operator: '=', value: 1 },
          { kind: 'or', filters: [] },
        ],
      },
      0,
    ],
  }

  it.each(Object.entries(few))('of a part of a column in %s is one statement, and its end', async (_, [filter, length]) => {
    const plans = await plansOf(async () => {
      const part = await reads.scan('events', filter, { shape: 'column', column: 'kind', limit: 4096 })
      expect(part).toMatchObject({ cells: { length }, next: undefined })
    })
    expect(plans).toHaveLength(1)
  })

  it.each(pages)(
    'of rows in a narrow range lists their ids by its index once, and reads the rows of a page by id: %o',
    async (page) => {
      // The first read of a table finds out how long its rows are.
      await reads.find('events', NARROW, page)
      const found = await reads.find('events', NARROW, page)
      const { order, after, offset = 0, limit, columns } = page
      const ids = Array.from({ length: 299 }, (_, n) => ROWS - 298 + n)
      const rest = (order === 'asc' ? ids : ids.toReversed()).filter((id) =>
        after === undefined ? true : order === 'asc' ? id > after : id < after,
      )
      const wanted = rest.slice(offset, offset + limit)
      expect(found.map(({ id }) => id)).toEqual(wanted)
      if (columns === undefined) expect(found.map(({ at }) => at)).toEqual(wanted.map((id) => (id - 1) * 1000))
      const [list, ...others] = await plansOf(() => reads.find('events', NARROW, page))
      expect(list).toMatch(BY_AT)
      expect(list).toContain('COVERING')
      expect(others).toHaveLength(wanted.length === 0 ? 0 : 1)
      for (const plan of others) expect(plan).toMatch(BY_IDS)
    },
  )

  it('of rows of which the index does not hold all that the filter reads lists no ids', async () => {
    const filter: Filter = { kind: 'and', filters: [NARROW, { kind: 'compare', column: 'kind', operator: '=', value: 1 }] }
    const page: Page = { order: 'asc', limit: 500 }
    await reads.find('events', filter, page)
    const plans = await plansOf(() => reads.find('events', filter, page))
    expect(plans.at(-1)).not.toContain('PRIMARY KEY (rowid=?)')
  })

  it('of few of the rows of a wide range counts the range up to its limit, and lists no ids: it would read the whole index', async () => {
    for (const filters of [
      [WIDE, { kind: 'compare', column: 'id', operator: '<', value: 10 }],
      [WIDE, { kind: 'in', column: 'id', values: Array.from({ length: 9000 }, (_, n) => ROWS * 2 - n) }],
    ] as const) {
      const [first, ...others] = await plansOf(() =>
        reads.find('events', { kind: 'and', filters }, { order: 'asc', limit: 5000 }),
      )
      expect(first?.replace(/^CO-ROUTINE.*?; /, '')).toMatch(BY_AT)
      expect(first).not.toContain('LIST SUBQUERY')
      expect(first).not.toContain('rowid')
      for (const plan of others) expect(plan).not.toContain('INDEX events')
      expect(others.length).toBeGreaterThan(0)
    }
  })

  it('of several bounds on one side begins at the closest, and reads no value of a list beyond it', async () => {
    const page: Page = { order: 'asc', limit: 500 }
    const list = (values: readonly number[]): Filter => ({ kind: 'in', column: 'at', values })
    const once = (filter: Filter) => plansOf(() => reads.find('events', filter, page))
    const narrow = await once(NARROW)
    for (const filters of [
      [WIDE, NARROW],
      [NARROW, WIDE],
    ]) {
      expect(await once({ kind: 'and', filters })).toEqual(narrow)
      expect(ran[0]?.parameters).toEqual([(ROWS - 300) * 1000, ROWS * 1000, 2001])
    }
    expect(await reads.find('events', { kind: 'and', filters: [WIDE, NARROW] }, page)).toHaveLength(299)
    const [low, high] = [1000, (ROWS - 7) * 1000]
    expect(await reads.find('events', { kind: 'and', filters: [list([low, high]), NARROW] }, page)).toHaveLength(1)
    expect(await reads.find('events', { kind: 'and', filters: [list([low]), NARROW] }, page)).toEqual([])
    const [count] = await reads.aggregate('events', { kind: 'and', filters: [WIDE, NARROW, WIDE] }, [{ kind: 'count' }])
    expect(count).toBe(299)
  })

  it('of all but one of a narrow range counts the range, and lists the ids of the others', async () => {
    const filter: Filter = {
      kind: 'and',
      filters: [NARROW, { kind: 'compare', column: 'at', operator: '<>', value: (ROWS - 5) * 1000 }],
    }
    const page: Page = { order: 'asc', limit: 500 }
    expect(await reads.find('events', filter, page)).toHaveLength(298)
    const plans = await plansOf(() => reads.find('events', filter, page))
    expect(plans).toHaveLength(3)
    for (const plan of plans.slice(0, 2)) expect(plan).toMatch(/COVERING INDEX events\.at\.index/)
    expect(plans[2]).toMatch(BY_IDS)
  })

  it('of the count of a narrow range is its index', async () => {
    const plans = await plansOf(() => reads.aggregate('events', NARROW, [{ kind: 'count' }]))
    expect(plans).toHaveLength(2)
    for (const plan of plans) expect(plan.replace(/^CO-ROUTINE.*?; /, '')).toMatch(BY_AT)
  })

  it.each(['min', 'max'] as const)('of the %s of a range is one end of its index, in one statement', async (kind) => {
    const plans = await plansOf(() => reads.aggregate('events', WIDE, [{ kind, column: 'at' }]))
    expect(plans).toHaveLength(1)
    expect(plans[0]).toMatch(BY_AT)
  })

  const unbounded: Readonly<Record<string, Filter>> = {
    'a wide range': WIDE,
    'a range without an end': { kind: 'compare', column: 'at', operator: '>', value: 10 },
    'a list that finds many rows': { kind: 'in', column: 'kind', values: [1, 2] },
    'a long list that finds many rows': { kind: 'in', column: 'at', values: Array.from({ length: 9000 }, (_, n) => n * 1000) },
    'a long list of ids': { kind: 'in', column: 'id', values: Array.from({ length: 9000 }, (_, n) => n * 20) },
    'one of two ranges': { kind: 'or', filters: [between(0, 90_000_000), between(90_000_000, ROWS * 1000)] },
    'outside a range': { kind: 'not', filter: NARROW },
    'a range and the first ids': {
      kind: 'and',
      filters: [WIDE, { kind: 'compare', column: 'id', operator: '<', value: 20_000 }],
    },
    'a range and all values but one': {
      kind: 'and',
      filters: [WIDE, { kind: 'compare', column: 'at', operator: '<>', value: 7000 }],
    },
    'a range and a value without an index': {
      kind: 'and',
      filters: [WIDE, { kind: 'compare', column: 'body', operator: '=', value: new Uint8Array(20) }],
    },
  }

  it.each(Object.entries(unbounded))('of %s is the id, slice by slice', async (_, filter) => {
    for (const page of [
      { order: 'asc', limit: 5000 },
      { order: 'desc', limit: 5000 },
      { order: 'asc', limit: 10, offset: 8000 },
    ] as const) {
      const plans = await plansOf(() => reads.find('events', filter, page))
      expect(plans.length).toBeGreaterThan(2)
      // The first may count what an index finds, up to its limit.
      for (const plan of plans.slice(1)) expect(plan).not.toContain('INDEX events')
    }
    const plans = await plansOf(() => reads.aggregate('events', filter, [{ kind: 'count' }, { kind: 'sum', column: 'kind' }]))
    for (const plan of plans.slice(1)) expect(plan).not.toContain('INDEX events')
  })

  it('of one value is its index from the slice on, because it holds the rows of one value by id', async () => {
    const filter: Filter = { kind: 'and', filters: [WIDE, { kind: 'compare', column: 'kind', operator: '=', value: 1 }] }
    const plans = await plansOf(() => reads.find('events', filter, { order: 'asc', limit: 5000 }))
    expect(plans.some((plan) => plan.includes('events.kind.index (kind=? AND rowid>? AND rowid<?)'))).toBe(true)
    expect(plans.some((plan) => plan.includes('events.at'))).toBe(false)
  })

  it('of a long list of ids names only those of the slice', async () => {
    const ids = Array.from({ length: 9000 }, (_, n) => n * 20 + 1)
    const found = await reads.find('events', { kind: 'in', column: 'id', values: ids }, { order: 'asc', limit: 9000 })
    expect(found.map(({ id }) => id)).toEqual(ids)
  })
})
