/** How blobs are found among many others: by row ids and the unique key, never by a scan. */
import pg from 'pg'
import { expect, inject, it } from 'vitest'
import { createTableShapes } from '../../../src/adapters/sql/table-shapes.ts'
import { isNarrow } from '../../../src/adapters/sqlite/access-path.ts'
import { keyOf, put, read, sampleBytes } from '../../../src/conformance/blobs/sample.ts'
import { databaseBlobs } from '../../../src/core/file-store/database-blobs.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { BLOB_PIECES, BLOBS } from '../../../src/core/schema/system-tables.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'
import { openStorage } from '../../support/storages/open-storage.ts'

const OTHERS = 5000
const SIZE = 100 * 65_536

/** Stores short blobs, and one of 100 pieces. */
async function fill(storage: StorageHandle): Promise<void> {
  await storage.prepare([BLOBS, BLOB_PIECES])
  const ids = await storage.reserveIds(BLOBS.name, OTHERS)
  const content = sampleBytes(10)
  await storage.insert(
    BLOBS.name,
    ids.map((id, index) => ({ id, key: keyOf(index + 10), pieces: 1, size: content.length })),
  )
  await storage.insert(
    BLOB_PIECES.name,
    ids.map((id) => ({ id: id * 2 ** 18, content })),
  )
  await put(databaseBlobs(storage), keyOf(1), sampleBytes(SIZE))
}

/** Reads and deletes blobs, and closes the storage. */
async function useBlobs(storage: StorageHandle): Promise<void> {
  await storage.prepare([BLOBS, BLOB_PIECES])
  const store = databaseBlobs(storage)
  expect((await read(store, keyOf(1))).length).toBe(SIZE)
  expect(await read(store, keyOf(20))).toEqual(sampleBytes(10))
  await put(store, keyOf(2), sampleBytes(SIZE))
  await store.delete([keyOf(1), keyOf(2), keyOf(20), keyOf(21)])
  await storage.close()
}

it('PostgreSQL reads no row of another blob', async () => {
  const database = await freshDatabase(inject('postgresUrl'))
  const address = { engine: 'postgres', url: database.url } as const
  const storage = openStorage(address)
  await fill(storage)
  await storage.close()
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query('analyze')
  const before = await countReads(client, 0)
  await useBlobs(openStorage(address))
  const after = await countReads(client, before.byIndex + 100)
  expect(after.byScan - before.byScan).toBe(0)
  await client.end()
  await database.drop()
})

/** Rows read by scans and by indexes, once the ended connections have reported at least so many of the latter. */
async function countReads(client: pg.Client, atLeast: number): Promise<{ readonly byScan: number; readonly byIndex: number }> {
  for (;;) {
    const { rows } = await client.query<{ scan: string; index: string }>(
      `select sum(seq_tup_read) as scan, sum(idx_tup_fetch) as index from pg_stat_all_tables where relname in ('blobs', 'blob_pieces')`,
    )
    const [row] = rows
    if (row !== undefined && Number(row.index) >= atLeast) return { byScan: Number(row.scan), byIndex: Number(row.index) }
  }
}

it('SQLite looks up keys in one statement by their unique index', () => {
  const shapes = createTableShapes()
  shapes.add([BLOBS])
  expect(isNarrow(shapes.of(BLOBS.name), { kind: 'in', column: 'key', values: [keyOf(1), keyOf(2)] })).toBe(true)
  expect(isNarrow(shapes.of(BLOBS.name), { kind: 'in', column: 'size', values: [1] })).toBe(false)
})
