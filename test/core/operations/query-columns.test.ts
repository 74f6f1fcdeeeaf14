/** Queries whose aggregates are of one plain column: storage returns that column alone, and the results are those of rows. */
import { beforeEach, describe, expect, it } from 'vitest'
import { column } from '../../../src/index.ts'
import { openQueries, type Queries } from '../../support/queries/open-queries.ts'
import { scansOf, scanWith } from '../../support/storages/whole-column.ts'

const SHOWN = { redaction: 'PLAIN_TEXT' } as const
const PLAIN = { ...SHOWN, encrypted: false } as const
const ROWS = 5000
const TABLES = {
  parts: {
    weight: column.float(PLAIN),
    sealed: column.float(SHOWN),
    kind: column.integer({ ...PLAIN, index: true }),
    size: column.integer(PLAIN),
    name: column.string(SHOWN),
  },
}

/** Numbers whose rounded sum depends on their order, and nulls. */
const parts = Array.from({ length: ROWS }, (_, index) => {
  const weight = index % 7 === 0 ? null : (index % 2 === 0 ? -1 : 1) * 1e15 ** (index % 3) * (index + 0.1)
  return { weight, sealed: weight, kind: index % 5, size: index, name: `part ${index}` }
})

const ALL_OF = (name: string) =>
  `SELECT SUM(${name}) AS sum, AVG(${name}) AS mean, MIN(${name}) AS low, MAX(${name}) AS high, COUNT(${name}) AS filled, COUNT(*) AS rows FROM parts`

describe('aggregates of one plain column', () => {
  let queries: Queries

  beforeEach(async () => {
    queries = await openQueries(TABLES)
    await queries.insert('parts', parts)
    queries.forget()
  })

  const verbs = () => new Set(queries.calls.map(({ verb }) => verb))
  const reads = () => queries.calls.reduce((sum, { rows }) => sum + rows, 0)

  it.each([
    '',
    ' WHERE size > 17',
    ' WHERE kind = 3',
    ' WHERE kind = 3 AND size > 2500',
    ' WHERE weight > 0',
    ' WHERE weight IS NULL',
    ' WHERE size > 9999',
  ])('are those of the sealed column, of which only the bodies are read%s', async (where) => {
    const [ofColumn] = await queries.query(ALL_OF('weight') + where)
    expect(verbs()).toEqual(new Set(['scan column']))
    queries.forget()
    expect(await queries.query(ALL_OF('sealed') + where)).toEqual([ofColumn])
    expect(verbs()).toEqual(new Set(['scan bytes']))
  })

  it('are explained, and open nothing', async () => {
    expect(queries.explain('SELECT SUM(weight) FROM parts').strategy).toBe('one column is read and aggregated')
    await queries.query('SELECT SUM(weight) FROM parts WHERE size > 2')
    expect(queries.opened()).toBe(0)
  })

  it('read rows if another column is needed', async () => {
    for (const sql of [
      'SELECT SUM(weight), SUM(size) FROM parts',
      "SELECT SUM(weight) FROM parts WHERE name LIKE 'part 1%'",
      'SELECT SUM(weight), MAX(svc_id) FROM parts',
    ]) {
      queries.forget()
      await queries.query(sql)
      expect(verbs()).toEqual(new Set(['find']))
    }
    queries.forget()
    await queries.query('SELECT SUM(size), MAX(weight) FROM parts')
    expect(verbs()).toEqual(new Set(['aggregate']))
  })

  it('spend the budget of rows', async () => {
    const limited = (maxRows: number) => queries.query('SELECT AVG(weight) FROM parts', { budget: { maxRows } })
    await expect(limited(ROWS - 1)).rejects.toMatchObject({ code: 'limit_exceeded' })
    await expect(limited(ROWS)).resolves.toHaveLength(1)
  })

  it('end when the query is aborted', async () => {
    const controller = new AbortController()
    const running = queries.query('SELECT SUM(weight) FROM parts', { signal: controller.signal })
    controller.abort()
    await expect(running).rejects.toMatchObject({ code: 'cancelled' })
    expect(reads()).toBeLessThan(ROWS)
  })

  it('refuse a stored cell that is no value of the column', async () => {
    const { storage } = queries
    const damaged = {
      ...storage,
      ...scanWith({ ...scansOf(storage), column: async () => ({ cells: [1, 'TEST_SECRET'], next: undefined }) }),
    }
    const beside = await openQueries(TABLES, { storage: damaged })
    const failing = beside.query('SELECT SUM(weight) FROM parts')
    await expect(failing).rejects.toMatchObject({ code: 'data_loss' })
    await expect(failing).rejects.not.toMatchObject({ message: expect.stringContaining('TEST_SECRET') })
  })
})
