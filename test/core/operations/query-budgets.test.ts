/** Tests the limits of a query: rows, time, memory, and yielding to the event loop. */
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import type { QueryContext } from '../../../src/core/queries/run-query.ts'
import { column } from '../../../src/index.ts'
import { answer, openQueries, type Queries } from '../../support/queries/open-queries.ts'
import { INDEXES_ONLY } from '../../support/queries/read-costs.ts'
import { PEOPLE, PETS, samplePeople } from '../../support/queries/sample-people.ts'
import { openLoose, START_MS } from '../../support/vaults/open-untyped.ts'

describe('the budget of a query', () => {
  const LIMIT = { code: 'limit_exceeded', grpcCode: 8 }
  const clock = { ms: 0, now: () => BigInt(clock.ms) * 1_000_000n }

  async function open(): Promise<Queries> {
    const queries = await openQueries({ people: PEOPLE, pets: PETS }, { clock })
    await queries.insert('people', samplePeople(1000))
    await queries.insert(
      'people',
      Array.from({ length: 1000 }, (_, at) => ({ name: `more ${at}` })),
    )
    return queries
  }

  /** The same vault with a scheduler that calls `atTurn` at every yield. */
  function turning(queries: Queries, atTurn: () => void): QueryContext {
    return { ...queries.context, scheduler: { yield: async () => atTurn() } }
  }

  const SCAN = "SELECT count(*) FROM people WHERE name LIKE '%x%'"

  it('limits rows read', async () => {
    const queries = await open()
    await expect(queries.query(SCAN, { budget: { maxRows: 1999 } })).rejects.toMatchObject(LIMIT)
    await expect(queries.query(SCAN, { budget: { maxRows: 2000 } })).resolves.toHaveLength(1)
  })

  it('counts a row once where reading in the order of an index is given up', async () => {
    const sealed = { index: 'sealed', redaction: 'PLAIN_TEXT' } as const
    const tables = { people: { size: column.integer(sealed), is_late: column.boolean(sealed) } }
    const { session } = await openLoose(memoryStorage(), tables)
    const people = Array.from({ length: 4000 }, (_, size) => ({ fields: { size, is_late: size >= 3000 } }))
    for (let from = 0; from < people.length; from += 1000) await session.insert('people', people.slice(from, from + 1000))
    // The first are beyond the rows after which the walk ends, whether it is allowed them or not.
    const sql = 'SELECT size FROM people WHERE is_late = TRUE ORDER BY size LIMIT 5'
    for (const maxRows of [2999, 1000])
      await expect(session.query(sql, { budget: { maxRows } })).resolves.toMatchObject({
        records: [3000, 3001, 3002, 3003, 3004].map((size) => ({ fields: { size } })),
      })
    await expect(session.query(sql, { budget: { maxRows: 999 } })).rejects.toMatchObject(LIMIT)
  })

  it('limits time', async () => {
    const queries = await open()
    const slow = turning(queries, () => {
      clock.ms += 10_000
    })
    await expect(answer(slow, SCAN, {})).rejects.toMatchObject({ code: 'deadline_exceeded', grpcCode: 4 })
    await expect(answer(slow, SCAN, { budget: { timeoutMs: 3_600_000 } })).resolves.toBeDefined()
  })

  it('allows no query if it has no time at all', async () => {
    const queries = await open()
    const none = { code: 'deadline_exceeded', grpcCode: 4 }
    await expect(queries.query('SELECT count(*) FROM people', { budget: { timeoutMs: 0 } })).rejects.toMatchObject(none)
    await expect(queries.query('SELECT count(*) FROM people', { budget: { timeoutMs: 0.5 } })).resolves.toHaveLength(1)
  })

  it('limits memory of buffered join rows', async () => {
    const queries = await open()
    const sql = 'SELECT count(*) FROM people a JOIN people b ON a.name < b.name LIMIT 1'
    await expect(queries.query(sql, { budget: { maxBytes: 100_000 } })).rejects.toMatchObject(LIMIT)
    await expect(queries.query(SCAN, { budget: { maxBytes: 0 } })).resolves.toHaveLength(1)
    const looksUp = 'SELECT count(*) FROM people a JOIN people b ON a.ssn = b.ssn AND a.age = 3'
    await expect(queries.query(looksUp, { budget: { maxBytes: 10_000 } })).resolves.toEqual([{ 'count(*)': 1 }])
  })

  it('limits memory of an order to what OFFSET and LIMIT keep, and memory of groups to all of them', async () => {
    const queries = await open()
    const order = 'SELECT * FROM people ORDER BY name DESC LIMIT 5'
    await expect(queries.query(order, { budget: { maxBytes: 5000 } })).resolves.toHaveLength(5)
    await expect(queries.query(`${order} OFFSET 100`, { budget: { maxBytes: 5000 } })).rejects.toMatchObject(LIMIT)
    await expect(queries.query(`${order} OFFSET 1999`, { budget: { maxRows: 2000 } })).resolves.toHaveLength(1)
    await expect(queries.query(`${order} OFFSET 2000`)).resolves.toHaveLength(0)
    for (const items of ['count(*) FROM people GROUP BY name', 'count(DISTINCT name) FROM people']) {
      await expect(queries.query(`SELECT ${items}`, { budget: { maxBytes: 50_000 } })).rejects.toMatchObject(LIMIT)
      await expect(queries.query(`SELECT ${items}`, { budget: { maxBytes: 5_000_000 } })).resolves.not.toEqual([])
    }
    await expect(queries.query(order, { budget: { maxRows: 1999 } })).rejects.toMatchObject(LIMIT)
  })

  it('says nothing of the length of what the caller does not see', async () => {
    const shown = { redaction: 'PLAIN_TEXT' } as const
    const tables = {
      notes: { name: column.string(shown), team: column.string(shown), text: column.string({ redaction: 'REDACTED' }) },
    }
    const policy = {
      redacted: ['ALLOW READ ON notes.name, notes.team', 'ALLOW READ ON notes.text WITH REDACTION = REDACTED'],
      hidden: ['ALLOW READ ON notes.name, notes.team', "ALLOW READ ON notes.text WHERE team = 'mine'"],
    }
    const queries = await openQueries(tables, { policy })
    await queries.insert('notes', [
      { name: 'short', team: 'other', text: 'x' },
      { name: 'long', team: 'other', text: 'x'.repeat(10_000) },
    ])
    const kept = 'SELECT * FROM notes WHERE name = $1 ORDER BY team'
    const joined = 'SELECT b.* FROM notes a RIGHT JOIN notes b ON a.name = b.name WHERE b.name = $1 AND a.name = $1'
    for (const role of ['redacted', 'hidden']) {
      for (const sql of [kept, joined]) {
        const fits = (maxBytes: number) => queries.as([role]).query(sql, { budget: { maxBytes } }, ['long'])
        await expect(fits(1000)).resolves.toHaveLength(1)
        await expect(fits(10)).rejects.toMatchObject(LIMIT)
      }
    }
    const seen = { budget: { maxBytes: 1000 } }
    await expect(queries.query(kept, seen, ['long'])).rejects.toMatchObject(LIMIT)
  })

  it('says nothing of how a value begins to a caller with SEARCH alone', async () => {
    const tables = { people: { secret: column.string({ redaction: 'REDACTED', index: 'sealed' }) } }
    const queries = await openQueries(tables, {
      policy: { finds: ['ALLOW READ, SEARCH ON people.secret WITH REDACTION = REDACTED'] },
    })
    const long = 'x'.repeat(64)
    const indexesFor = (roles: readonly string[], text: string) =>
      queries.as(roles).explain(`SELECT count(*) FROM people WHERE secret IN ('a', '${text}')`).text.includes('sealed indexes')
    expect(indexesFor(['finds'], 'b')).toBe(true)
    // The key is that of all values that begin so, and all their rows count as read.
    expect(indexesFor(['finds'], long)).toBe(false)
    expect(indexesFor(['VAULT_OWNER'], long)).toBe(true)
  })

  it('ends when its signal is aborted', async () => {
    const queries = await open()
    const controller = new AbortController()
    let turns = 0
    const context = turning(queries, () => {
      if (++turns === 2) controller.abort()
    })
    await expect(answer(context, SCAN, { signal: controller.signal })).rejects.toMatchObject({
      code: 'cancelled',
      grpcCode: 1,
    })
    expect(turns).toBe(2)
    await expect(answer(context, SCAN, { signal: AbortSignal.abort() })).rejects.toMatchObject({ grpcCode: 1 })
  })

  it('ends by signal and time while it reads an index, from which some results are computed alone', async () => {
    const sealed = { index: 'sealed', redaction: 'PLAIN_TEXT' } as const
    const storage = memoryStorage()
    let now = START_MS
    // A turn is due at each look at the clock. What a vault has read of an index before takes no time.
    const moving = {
      get ms() {
        now += 10
        return now
      },
    }
    const fresh = async () =>
      (await openLoose(storage, { people: { size: column.integer(sealed) } }, { readCosts: INDEXES_ONLY, clock: moving })).session
    await (await fresh()).insert(
      'people',
      Array.from({ length: 100 }, (_, size) => ({ fields: { size } })),
    )
    for (const what of [
      'COUNT(*), SUM(size) FROM people WHERE size > 5',
      'size FROM people WHERE size = 5',
      'size FROM people ORDER BY size',
    ]) {
      let looks = 0
      const signal = {
        get aborted() {
          looks++
          return looks > 1
        },
      }
      for (const [options, code] of [
        [{ signal }, 'cancelled'],
        [{ budget: { timeoutMs: 15 } }, 'deadline_exceeded'],
      ] as const)
        await expect((await fresh()).query(`SELECT ${what}`, options), what).rejects.toMatchObject({ code })
    }
  })

  it('yields to the event loop between slices of rows, and within long joins by the clock', async () => {
    const queries = await open()
    let turns = 0
    await answer(
      turning(queries, () => turns++),
      SCAN,
      {},
    )
    expect(turns).toBeGreaterThanOrEqual(4)
    let millis = 0
    const ticking = { ...turning(queries, () => turns++), clock: { now: () => BigInt(millis++) * 1_000_000n } }
    turns = 0
    await answer(ticking, 'SELECT count(*) FROM people a JOIN people b ON a.name > b.name AND a.age = 7', {
      budget: { timeoutMs: 1e9 },
    })
    expect(turns).toBeGreaterThan(8)
    for (const rest of ['name FROM people ORDER BY name OFFSET 1000', 'max(age) AS top FROM people GROUP BY name ORDER BY top']) {
      turns = 0
      await answer(ticking, `SELECT ${rest}`, { budget: { timeoutMs: 1e9 } })
      expect(turns).toBeGreaterThan(4)
    }
  })

  it('opens fewer rows between yields if they take long', async () => {
    const queries = await open()
    let millis = 0
    let turns = 0
    const slow = { ...turning(queries, () => turns++), clock: { now: () => BigInt(10 * millis++) * 1_000_000n } }
    await answer(slow, SCAN, { budget: { timeoutMs: 1e9 } })
    expect(turns).toBeGreaterThan(500)
  })
})
