/** What a query may take: rows, time, memory, and turns of the event loop. */
import { describe, expect, it } from 'vitest'
import type { QueryContext } from '../../../src/core/operations/query-records.ts'
import { answerQuery } from '../../../src/core/operations/query-records.ts'
import type { Queries } from '../../support/queries/open-queries.ts'
import { openQueries } from '../../support/queries/open-queries.ts'
import { crowd, PEOPLE, PETS } from '../../support/queries/sample-people.ts'

describe('what a query may take', () => {
  const LIMIT = { code: 'limit_exceeded', grpcCode: 8 }
  const clock = { ms: 0, now: () => BigInt(clock.ms) * 1_000_000n }

  async function open(): Promise<Queries> {
    const queries = await openQueries({ people: PEOPLE, pets: PETS }, { clock })
    await queries.insert('people', crowd(1000))
    await queries.insert(
      'people',
      Array.from({ length: 1000 }, (_, at) => ({ name: `more ${at}` })),
    )
    return queries
  }

  /** The same vault whose scheduler does something at every turn. */
  function turning(queries: Queries, atTurn: () => void): QueryContext {
    return { ...queries.context, scheduler: { turn: async () => atTurn() } }
  }

  const SCAN = "SELECT count(*) FROM people WHERE name LIKE '%x%'"

  it('is a number of rows', async () => {
    const queries = await open()
    await expect(queries.query(SCAN, { budget: { rows: 1999 } })).rejects.toMatchObject(LIMIT)
    await expect(queries.query(SCAN, { budget: { rows: 2000 } })).resolves.toHaveLength(1)
  })

  it('is a time', async () => {
    const queries = await open()
    const slow = turning(queries, () => {
      clock.ms += 10_000
    })
    await expect(answerQuery(slow, SCAN, {})).rejects.toMatchObject(LIMIT)
    await expect(answerQuery(slow, SCAN, { budget: { milliseconds: 3_600_000 } })).resolves.toBeDefined()
  })

  it('is memory for the rows of joins', async () => {
    const queries = await open()
    const sql = 'SELECT count(*) FROM people a JOIN people b ON a.name < b.name LIMIT 1'
    await expect(queries.query(sql, { budget: { bytes: 100_000 } })).rejects.toMatchObject(LIMIT)
    await expect(queries.query(SCAN, { budget: { bytes: 0 } })).resolves.toHaveLength(1)
    const looksUp = 'SELECT count(*) FROM people a JOIN people b ON a.ssn = b.ssn AND a.age = 3'
    await expect(queries.query(looksUp, { budget: { bytes: 10_000 } })).resolves.toEqual([{ 'count(*)': 1 }])
  })

  it('ends when its caller wants it to', async () => {
    const queries = await open()
    const controller = new AbortController()
    let turns = 0
    const context = turning(queries, () => {
      if (++turns === 2) controller.abort()
    })
    await expect(answerQuery(context, SCAN, { signal: controller.signal })).rejects.toMatchObject({
      code: 'cancelled',
      grpcCode: 1,
    })
    expect(turns).toBe(2)
    await expect(answerQuery(context, SCAN, { signal: AbortSignal.abort() })).rejects.toMatchObject({ grpcCode: 1 })
  })

  it('lets others have their turn: between slices of rows, and within long joins by the clock', async () => {
    const queries = await open()
    let turns = 0
    await answerQuery(
      turning(queries, () => turns++),
      SCAN,
      {},
    )
    expect(turns).toBeGreaterThanOrEqual(4)
    let millis = 0
    const ticking = { ...turning(queries, () => turns++), clock: { now: () => BigInt(millis++) * 1_000_000n } }
    turns = 0
    await answerQuery(ticking, 'SELECT count(*) FROM people a JOIN people b ON a.name > b.name AND a.age = 7', {
      budget: { milliseconds: 1e9 },
    })
    expect(turns).toBeGreaterThan(8)
  })

  it('opens fewer rows between turns where they take long', async () => {
    const queries = await open()
    let millis = 0
    let turns = 0
    const slow = { ...turning(queries, () => turns++), clock: { now: () => BigInt(10 * millis++) * 1_000_000n } }
    await answerQuery(slow, SCAN, { budget: { milliseconds: 1e9 } })
    expect(turns).toBeGreaterThan(500)
  })
})
