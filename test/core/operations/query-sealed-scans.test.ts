/** Queries that read nothing but sealed columns: storage returns ids and bodies side by side, and the results are those of whole rows. */
import Database from 'better-sqlite3'
import { afterEach, describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/index.ts'
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import { column } from '../../../src/index.ts'
import type { StorageHandle } from '../../../src/storage-port.ts'
import { temporaryFolder } from '../../adapters/sqlite/temporary-folder.ts'
import { openQueries } from '../../support/queries/open-queries.ts'

const SHOWN = { redaction: 'PLAIN_TEXT' } as const
const TABLES = {
  people: {
    name: column.string(SHOWN),
    note: column.string(SHOWN),
    size: column.integer(SHOWN),
    plain: column.integer({ ...SHOWN, encrypted: false }),
  },
}
const newFile = temporaryFolder()
const TABLE = 'records_1_people'
const NAMES = ['Ann Ivanova', 'Søren Ivanov', 'ivanova', '', 'Ivanova', '100%', 'a_b', '😀 Ivanova 😀', 'e\u0301', 'é', null]
const ROWS = 3000

const people = Array.from({ length: ROWS }, (_, index) => ({
  name: NAMES[index % NAMES.length] ?? null,
  note: index % 1000 === 999 ? 'long '.repeat(2000) : null,
  size: index,
  plain: index,
}))

/** A condition, and the same of a record. */
const CONDITIONS: readonly (readonly [string, (name: string) => boolean])[] = [
  ["LIKE '%Ivanova%'", (name) => name.includes('Ivanova')],
  ["LIKE 'Ivan%'", (name) => name.startsWith('Ivan')],
  ["LIKE '%ova'", (name) => name.endsWith('ova')],
  ["LIKE '%n%van%'", (name) => /n.*van/su.test(name)],
  ["LIKE 'Ivanova'", (name) => name === 'Ivanova'],
  ["LIKE '%\\%'", (name) => name.endsWith('%')],
  ["LIKE '_'", (name) => [...name].length === 1],
  ["LIKE '%é%'", (name) => name.includes('é')],
  ["ILIKE 'ivanova'", (name) => name.toLowerCase() === 'ivanova'],
  ["LIKE '%'", () => true],
  ["LIKE ''", (name) => name === ''],
  ["= 'é'", (name) => name === 'é'],
  ["= ''", (name) => name === ''],
  ["> 'Ivanova'", (name) => name > 'Ivanova'],
  ["NOT LIKE '%Ivanova%'", (name) => !name.includes('Ivanova')],
]

describe('scans of bodies with a row id that no row can have', () => {
  it.each([2n ** 53n - 900n, 2n ** 53n - 1n, 2n ** 53n + 1n])('%s: the error names the record', async (to) => {
    const filename = newFile()
    const storage = sqliteStorage({ filename })
    try {
      const queries = await openQueries(TABLES, { storage })
      await queries.insert('people', people.slice(0, 500))
      const database = new Database(filename)
      database.prepare(`update ${TABLE} set id = ? where id = 250`).run(to)
      database.close()
      for (const condition of ["name LIKE '%van%'", "name = 'Ivanova'", "name LIKE '_'"]) {
        const failed = queries.query(`SELECT COUNT(*) FROM people WHERE ${condition}`)
        await expect(failed, condition).rejects.toMatchObject({
          code: 'data_loss',
          details: [expect.objectContaining({ table: 'people', id: expect.any(String) })],
        })
      }
    } finally {
      await storage.close()
    }
  })
})

describe.each(['memory', 'SQLite'])('scans of bodies in %s', (engine) => {
  const opened: StorageHandle[] = []
  const fill = async () => {
    const storage = engine === 'memory' ? memoryStorage() : sqliteStorage({ filename: newFile() })
    opened.push(storage)
    const queries = await openQueries(TABLES, { storage })
    await queries.insert('people', people)
    // Gaps in the ids, one of which is wider than a page.
    await storage.delete(TABLE, { ids: Array.from({ length: 900 }, (_, index) => index + 800) })
    await storage.delete(TABLE, { ids: [1, 3, 77, 2000, 2002, ROWS] })
    const ids = await storage.find(TABLE, { kind: 'all' }, { order: 'asc', limit: ROWS, columns: [] })
    queries.forget()
    return { storage, queries, left: ids.map(({ id }) => people[id - 1] ?? {}) as Partial<(typeof people)[number]>[] }
  }

  afterEach(async () => {
    for (const storage of opened.splice(0)) await storage.close()
  })

  it('find what a look at each record finds', async () => {
    const { queries, left } = await fill()
    for (const [condition, isMatch] of CONDITIONS) {
      const found = left.filter(({ name }) => typeof name === 'string' && isMatch(name))
      const sum = found.reduce((total, { size = 0 }) => total + size, 0)
      const [totals] = await queries.query(`SELECT COUNT(*) AS count, SUM(size) AS sum FROM people WHERE name ${condition}`)
      expect(totals, condition).toEqual({ count: found.length, sum: found.length === 0 ? null : sum })
    }
    expect(new Set(queries.calls.map(({ verb }) => verb))).toEqual(new Set(['scan bytes']))
  })

  it('return records in order, also after a plain condition that few rows match', async () => {
    const { queries, left } = await fill()
    const rare = await queries.query("SELECT name, size FROM people WHERE plain > 2990 AND name LIKE '%van%'")
    expect(rare).toEqual(
      left.filter(({ name, plain = 0 }) => plain > 2990 && name?.includes('van')).map(({ name, size }) => ({ name, size })),
    )
    const [first] = await queries.query("SELECT size FROM people WHERE name = 'Ivanova' LIMIT 1 OFFSET 100")
    expect(first).toEqual({ size: left.filter(({ name }) => name === 'Ivanova')[100]?.size })
  })

  it('refuse a body that was changed or moved, wherever it lies', async () => {
    for (const id of [2, 700, ROWS - 1]) {
      const { storage, queries } = await fill()
      const [row] = await storage.get(TABLE, [id])
      const [other] = await storage.get(TABLE, [id - 1 === 1 ? 4 : id - 1])
      await storage.update(TABLE, [{ id, version: row?.version ?? 0, set: { body: other?.body ?? null } }])
      await expect(queries.query("SELECT COUNT(*) FROM people WHERE name LIKE '%van%'")).rejects.toMatchObject({
        code: 'data_loss',
      })
      await storage.update(TABLE, [{ id, version: (row?.version ?? 0) + 1, set: { body: null } }])
      await expect(queries.query('SELECT SUM(size) FROM people')).rejects.toMatchObject({ code: 'data_loss' })
    }
  })
})
