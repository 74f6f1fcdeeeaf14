/** Rows of short bytes are equal whether they are read as texts or as cells, with both drivers. */
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import type { DriverName } from '../../../src/adapters/sqlite/sqlite-driver.ts'
import type { NewRow, PhysicalTable, Storage, StorageHandle } from '../../../src/core/ports/storage.ts'
import { inKysely } from './kysely-transaction.ts'
import { EVERY, SEALED } from './notes-table.ts'
import { temporaryFolder } from './temporary-folder.ts'

const nextFile = temporaryFolder()

/** Lengths around the longest cell that is read as digits. */
const LENGTHS = [0, 1, 2, 63, 64, 65, 150, 255, 256]
const LONG = [257, 300, 5000, 100_000]

function bytesOf(length: number, seed: number): Uint8Array {
  return Uint8Array.from({ length }, (_, at) => (at * 37 + seed * 101) & 0xff)
}

/** One row for each length, also with nulls. */
const SHORT_ROWS: readonly NewRow[] = [
  ...LENGTHS.map((length, at) => ({ id: at + 1, body: bytesOf(length, at), digest: bytesOf(12, at) })),
  { id: 100, body: null, digest: bytesOf(12, 100) },
  { id: 101, body: bytesOf(150, 101), digest: null },
  { id: 102, body: null, digest: null },
  { id: 103, body: bytesOf(0, 0), digest: bytesOf(0, 0) },
]
const LONG_ROWS: readonly NewRow[] = LONG.map((length, at) => ({
  id: at + 200,
  body: bytesOf(length, at),
  digest: bytesOf(12, at + 200),
}))

async function withRows(
  { driver, rows }: { readonly driver: DriverName; readonly rows: readonly NewRow[] },
  body: (storage: StorageHandle, filename: string) => Promise<void>,
  change = '',
): Promise<void> {
  const filename = nextFile()
  const open = () => sqliteStorage({ filename, driver })
  await using first = open()
  await first.prepare([SEALED])
  await first.insert('sealed', rows)
  await first.close()
  if (change !== '') {
    const database = new Database(filename)
    database.unsafeMode(true)
    database.pragma('writable_schema = 1')
    database.exec("update sqlite_master set sql = replace(sql, ' strict', '') where name = 'sealed'")
    database.pragma('writable_schema = RESET')
    database.exec(change)
    database.close()
  }
  await using storage = open()
  await storage.prepare([SEALED])
  await body(storage, filename)
}

const stored = (row: NewRow) => ({ ...row, version: 1 })

async function expectReads(storage: Storage, rows: readonly NewRow[]): Promise<void> {
  for (const row of rows) {
    expect(await storage.get('sealed', [row.id])).toEqual([stored(row)])
    const { digest } = row
    if (!(digest instanceof Uint8Array)) continue
    const filter = { kind: 'compare', column: 'digest', operator: '=', value: digest } as const
    expect(await storage.find('sealed', filter, { order: 'asc', limit: 5 })).toEqual([stored(row)])
    for (const columns of [['body'], ['digest', 'body'], ['body', 'digest', 'body'], ['digest', 'version'], []]) {
      const shown = Object.fromEntries(columns.filter((name) => name !== 'version').map((name) => [name, row[name]]))
      const found = await storage.find('sealed', filter, { order: 'asc', limit: 5, columns })
      expect(found).toEqual([{ id: row.id, version: 1, ...shown }])
    }
  }
  expect(await storage.get('sealed', [9000])).toEqual([undefined])
  expect(await storage.find('sealed', EVERY, { order: 'desc', limit: 50 })).toEqual(rows.map(stored).toReversed())
}

describe.each(['better-sqlite3', 'node:sqlite'] as const)('rows of short bytes with %s', (driver) => {
  it('have nulls, empty cells and every length', async () => {
    await withRows({ driver, rows: SHORT_ROWS }, (storage) => expectReads(storage, SHORT_ROWS))
  })

  it('are equal inside the transaction of a Kysely application', async () => {
    const rows = [...SHORT_ROWS, ...LONG_ROWS]
    await withRows({ driver, rows }, (storage, filename) =>
      inKysely(filename, async (transaction) => {
        const joined = storage.joinTransaction(transaction)
        await expectReads(joined, rows)
        await expectReads(joined, rows)
      }),
    )
  })

  it('are equal among rows that are too long', async () => {
    const rows = [...SHORT_ROWS, ...LONG_ROWS]
    await withRows({ driver, rows }, async (storage) => {
      await expectReads(storage, rows)
      // The long ones have put off reading as texts for a while, which ends.
      for (let read = 0; read < 120; read++) expect(await storage.get('sealed', [7])).toEqual([stored(rows[6] as NewRow)])
      await expectReads(storage, rows)
    })
  })

  it('are equal where an index holds all that a list of its values reads, in lists and pages of every length', async () => {
    const rows = Array.from({ length: 400 }, (_, at) => ({ id: at + 1, body: bytesOf(150, at), digest: bytesOf(12, at % 80) }))
    await withRows({ driver, rows }, async (storage) => {
      for (const length of [2, 3, 60, 80]) {
        const values = Array.from({ length }, (_, at) => bytesOf(12, at))
        const filter = { kind: 'in', column: 'digest', values } as const
        const wanted = rows.filter((_, at) => at % 80 < length).map(stored)
        for (const limit of [1, 5, 99, 100, 1000]) {
          expect(await storage.find('sealed', filter, { order: 'asc', limit })).toEqual(wanted.slice(0, limit))
          const down = wanted.toReversed().slice(3, 3 + limit)
          expect(await storage.find('sealed', filter, { order: 'desc', limit, offset: 3 })).toEqual(down)
          const after = wanted.filter(({ id }) => id > 90).slice(0, limit)
          expect(await storage.find('sealed', filter, { order: 'asc', limit, after: 90, columns: ['digest', 'body'] })).toEqual(
            after,
          )
        }
      }
    })
  })

  it('are found by a list of the values of a column of any name', async () => {
    const table: PhysicalTable = {
      name: 'named',
      columns: [
        { name: 'wanted', type: 'integer' },
        { name: 'body', type: 'bytes' },
      ],
      indexes: [{ columns: ['wanted'], unique: false }],
    }
    await using storage = sqliteStorage({ filename: nextFile(), driver })
    await storage.prepare([table])
    const rows = Array.from({ length: 40 }, (_, at) => ({ id: at + 1, wanted: at % 4, body: bytesOf(9, at) }))
    await storage.insert('named', rows)
    const filter = { kind: 'in', column: 'wanted', values: [1, 2] } as const
    for (const limit of [5, 100]) {
      const wanted = rows.filter((row) => row.wanted === 1 || row.wanted === 2).map(stored)
      expect(await storage.find('named', filter, { order: 'asc', limit })).toEqual(wanted.slice(0, limit))
    }
  })

  it('have more columns than an expression of SQLite is deep', async () => {
    const columns = Array.from({ length: 1200 }, (_, at) => ({ name: `c${at}`, type: 'bytes' }) as const)
    await using storage = sqliteStorage({ filename: nextFile(), driver })
    await storage.prepare([{ name: 'wide', columns, indexes: [] }])
    const rowOf = (id: number) => ({
      id,
      ...Object.fromEntries(columns.map(({ name }, at) => [name, at % 7 === id % 7 ? null : bytesOf(at % 5, at + id)])),
    })
    const ids = [1, 2, 3, 4, 5, 6]
    await storage.insert('wide', ids.map(rowOf))
    const wanted = ids.map((id) => ({ ...rowOf(id), version: 1 }))
    expect(await storage.get('wide', [1])).toEqual(wanted.slice(0, 1))
    expect(await storage.get('wide', ids)).toEqual(wanted)
    for (const limit of [5, 200])
      expect(await storage.find('wide', EVERY, { order: 'asc', limit })).toEqual(wanted.slice(0, limit))
  })

  it('are equal in a transaction that changes them', async () => {
    await withRows({ driver, rows: SHORT_ROWS }, async (storage) => {
      const body = bytesOf(200, 7)
      await storage.transaction(async (inner) => {
        await inner.update('sealed', [{ id: 7, version: 1, set: { body } }])
        expect(await inner.get('sealed', [7])).toEqual([{ ...SHORT_ROWS[6], body, version: 2 }])
      })
      expect(await storage.get('sealed', [7])).toEqual([{ ...SHORT_ROWS[6], body, version: 2 }])
    })
  })

  it('keep their bytes while others are read, and share none', async () => {
    const rows = Array.from({ length: 300 }, (_, at) => ({ id: at + 1, body: bytesOf(200, at), digest: bytesOf(12, at) }))
    await withRows({ driver, rows }, async (storage) => {
      const read = []
      for (const { id } of rows) read.push((await storage.get('sealed', [id]))[0])
      expect(read).toEqual(rows.map(stored))
      for (const row of read) if (row?.body instanceof Uint8Array) row.body.fill(0)
      expect(read.map((row) => row?.digest)).toEqual(rows.map(({ digest }) => digest))
      expect(await storage.get('sealed', [1])).toEqual([stored(rows[0] as NewRow)])
    })
  })

  it.each([
    ["'00ff'", '00ff'],
    ["'zz,1,1,2'", 'zz,1,1,2'],
    ["'é'", 'é'],
  ])('that hold the text %s are read as its bytes or as it is, and never as its digits', async (literal, text) => {
    const change = `update sealed set body = ${literal} where id = 7`
    await withRows(
      { driver, rows: SHORT_ROWS },
      async (storage) => {
        const [row] = await storage.get('sealed', [7])
        const body = row?.body instanceof Uint8Array ? new TextDecoder().decode(row.body) : row?.body
        expect(body).toBe(text)
        expect(await storage.get('sealed', [8])).toEqual([stored(SHORT_ROWS[7] as NewRow)])
      },
      change,
    )
  })

  it.each(["'1,2'", "''", "'text'", "x'00'", '-5', '9007199254740991', '2.5'])(
    'whose version is %s have the version that the cells have',
    async (version) => {
      await withRows(
        { driver, rows: SHORT_ROWS },
        async (storage) => {
          const [one] = await storage.get('sealed', [7])
          // A packed read of many ids, and one that is not packed.
          const [among] = await storage.get('sealed', [7, 8])
          expect(one).toEqual(among)
        },
        `update sealed set version = ${version} where id = 7`,
      )
    },
  )
})
