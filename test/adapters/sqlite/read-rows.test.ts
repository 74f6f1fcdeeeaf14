/** Rows of bytes are equal whether they are read packed, one by one, from a file that cannot pack them, or with another driver. */
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { toTableShape } from '../../../src/adapters/sql/table-shapes.ts'
import type { DriverName, RawRow } from '../../../src/adapters/sqlite/drivers.ts'
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import { canPack, packedStatement, unpackRows } from '../../../src/adapters/sqlite/read-rows.ts'
import type { NewRow, PhysicalTable, Storage, StorageHandle } from '../../../src/core/ports/storage.ts'
import { inKysely } from './kysely-transaction.ts'
import { EVERY, SEALED } from './notes-table.ts'
import { temporaryFolder } from './temporary-folder.ts'

const nextFile = temporaryFolder()

const ROWS = 300
/** Longer than any cell that is packed. */
const LONG = 5000

/** Bytes that are not text in any encoding, empty cells and missing ones. */
function rowOf(id: number): NewRow {
  const body = id % 7 === 0 ? null : Uint8Array.from({ length: id % 11 === 0 ? 0 : id }, (_, at) => (at * 37 + id * 101) & 0xff)
  return { id, body, digest: id % 5 === 0 ? null : new Uint8Array([0xff, 0, id & 0xff, 0xc3, 0x28]) }
}

const ALL_ROWS = Array.from({ length: ROWS }, (_, at) => rowOf(at + 1))
const stored = (row: NewRow) => ({ ...row, version: 1 })

async function withRows(body: (storage: StorageHandle, filename: string) => Promise<void>, encoding = 'UTF-8'): Promise<void> {
  const filename = nextFile()
  const host = new Database(filename)
  host.pragma(`encoding = '${encoding}'`)
  host.exec('create table hosts (x)')
  host.close()
  const storage = sqliteStorage({ filename })
  try {
    await storage.prepare([SEALED])
    await storage.insert('sealed', ALL_ROWS)
    await body(storage, filename)
  } finally {
    await storage.close()
  }
}

async function expectAllReads(storage: Storage): Promise<void> {
  const up = ALL_ROWS.map(stored)
  expect(await storage.find('sealed', EVERY, { order: 'asc', limit: 1000 })).toEqual(up)
  expect(await storage.find('sealed', EVERY, { order: 'desc', limit: 100, offset: 3 })).toEqual(up.toReversed().slice(3, 103))
  const ids = [7, 9000, 300, 1, 1, 11, 8000, 255, 35]
  const expected = ids.map((id) => (id > ROWS ? undefined : stored(rowOf(id))))
  expect(await storage.get('sealed', ids)).toEqual(expected)
  expect(await storage.get('sealed', [9001, 9002, 9003, 9004, 9005, 9006])).toEqual(Array(6).fill(undefined))
  expect(await storage.find('sealed', { kind: 'or', filters: [] }, { order: 'asc', limit: 1000 })).toEqual([])
}

describe('rows read in packed form', () => {
  it('equal the written rows, including every byte and every missing cell', async () => {
    await withRows(expectAllReads)
  })

  it('are equal in a database with UTF-16 text', async () => {
    await withRows(expectAllReads, 'UTF-16')
  })

  it('are equal inside transactions, also of a Kysely application', async () => {
    await withRows(async (storage, filename) => {
      await storage.transaction(expectAllReads)
      await inKysely(filename, (transaction) => expectAllReads(storage.joinTransaction(transaction)))
    })
  })

  it('contain separate arrays, so that writing into one changes no other', async () => {
    await withRows(async (storage) => {
      const read = await storage.get('sealed', [1, 2, 3, 4, 6])
      for (const row of read) {
        expect(Object.getPrototypeOf(row?.body)).toBe(Uint8Array.prototype)
        if (row?.body instanceof Uint8Array) row.body.fill(0)
        expect(row?.digest).toEqual(rowOf(row?.id ?? 0).digest)
      }
    })
  })

  it('can contain cells too long to be packed', async () => {
    await withRows(async (storage, filename) => {
      const long = { id: 1000, body: new Uint8Array(LONG).fill(0x80), digest: null }
      await storage.insert('sealed', [long])
      const ids = [1, 2, 1000, 3, 4, 6]
      const expectLong = async (reads: Storage) => {
        for (let round = 0; round < 120; round++) {
          const read = await reads.get('sealed', ids)
          expect(read).toEqual(ids.map((id) => stored(id === 1000 ? long : rowOf(id))))
        }
      }
      await expectLong(storage)
      await inKysely(filename, (transaction) => expectLong(storage.joinTransaction(transaction)))
      await storage.delete('sealed', { ids: [1000] })
      await expectAllReads(storage)
    })
  })
})

describe('packing', () => {
  it('is used only for tables whose cells are all bytes', () => {
    const withColumns = (columns: PhysicalTable['columns']) => canPack(toTableShape({ ...SEALED, columns }))
    expect(withColumns(SEALED.columns)).toBe(true)
    expect(withColumns([])).toBe(false)
    expect(withColumns([...SEALED.columns, { name: 'n', type: 'integer' }])).toBe(false)
  })

  it('is not used if a cell is too long or text is not UTF-8, and else is', () => {
    const shape = toTableShape(SEALED)
    const packed = (encoding: string, length: number) => {
      const database = new Database(':memory:')
      database.pragma(`encoding = '${encoding}'`)
      const text = `select 1 as "id", 1 as "version", zeroblob(${length}) as "body", null as "digest"`
      // In raw mode the driver returns an array of cells.
      const row = database.prepare(packedStatement(shape, { text }).text).raw().get() as RawRow
      database.close()
      return unpackRows(shape, row)
    }
    expect(packed('UTF-8', 20)).toEqual([{ id: 1, version: 1, body: new Uint8Array(20), digest: null }])
    expect(packed('UTF-8', LONG)).toBeUndefined()
    expect(packed('UTF-16', 20)).toBeUndefined()
  })
})

const LENGTHS = [0, 1, 2, 63, 64, 65, 150, 255, 256]
const LONG_LENGTHS = [257, 300, 5000, 100_000]

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
const LONG_ROWS: readonly NewRow[] = LONG_LENGTHS.map((length, at) => ({
  id: at + 200,
  body: bytesOf(length, at),
  digest: bytesOf(12, at + 200),
}))

async function withShortRows(
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
    await withShortRows({ driver, rows: SHORT_ROWS }, (storage) => expectReads(storage, SHORT_ROWS))
  })

  it('are equal inside the transaction of a Kysely application', async () => {
    const rows = [...SHORT_ROWS, ...LONG_ROWS]
    await withShortRows({ driver, rows }, (storage, filename) =>
      inKysely(filename, async (transaction) => {
        const joined = storage.joinTransaction(transaction)
        await expectReads(joined, rows)
        await expectReads(joined, rows)
      }),
    )
  })

  it('are equal among rows that are too long', async () => {
    const rows = [...SHORT_ROWS, ...LONG_ROWS]
    await withShortRows({ driver, rows }, async (storage) => {
      await expectReads(storage, rows)
      // The long ones have put off packing for a while, which ends.
      for (let read = 0; read < 120; read++) expect(await storage.get('sealed', [7])).toEqual([stored(rows[6] as NewRow)])
      await expectReads(storage, rows)
    })
  })

  it('are equal where an index holds all that a list of its values reads, in lists and pages of every length', async () => {
    const rows = Array.from({ length: 400 }, (_, at) => ({ id: at + 1, body: bytesOf(150, at), digest: bytesOf(12, at % 80) }))
    await withShortRows({ driver, rows }, async (storage) => {
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
    await withShortRows({ driver, rows: SHORT_ROWS }, async (storage) => {
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
    await withShortRows({ driver, rows }, async (storage) => {
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
  ])('that hold the text %s are read as its bytes or as it is', async (literal, text) => {
    const change = `update sealed set body = ${literal} where id = 7`
    await withShortRows(
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
})
