/** Rows of bytes are equal whether they are read packed, one by one, or from a file that cannot pack them. */
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { toTableShape } from '../../../src/adapters/sql/table-shapes.ts'
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import { canPack, packedStatement, unpackRows } from '../../../src/adapters/sqlite/packed-rows.ts'
import type { RawRow } from '../../../src/adapters/sqlite/table-work.ts'
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
