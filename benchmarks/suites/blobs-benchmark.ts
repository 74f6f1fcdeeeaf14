/** Benchmark: a long blob written and read in each store, against the same bytes in a plain file or table, and the memory that it takes. */
import { folderBlobs } from '../../src/adapters/blobs/index.ts'
import { postgresStorage } from '../../src/adapters/postgres/index.ts'
import { sqliteStorage } from '../../src/adapters/sqlite/index.ts'
import { databaseBlobs } from '../../src/core/file-store/database-blobs.ts'
import type { BlobStore } from '../../src/core/ports/blobs.ts'
import type { StorageHandle } from '../../src/core/ports/storage.ts'
import { BLOB_PIECES, BLOBS } from '../../src/core/schema/system-tables.ts'
import { type PlainBlob, plainFile, plainPostgresTable, plainSqliteTable } from '../baselines/plain-blobs.ts'
import { MIB, sealedContent } from '../fixtures/sealed-content.ts'
import { assertSame } from '../measuring/check-reads.ts'
import { compareSizes, measurePair } from '../measuring/harness.ts'
import type { Entry, StorageName } from '../report/result-shape.ts'
import type { Benchmark, RunConfig } from '../runner/run-config.ts'

export const blobsBenchmark: Benchmark = {
  names: ['blobs'],
  storages: {
    none: (config) =>
      measureBlobs(config, {
        storage: 'none',
        store: folderBlobs({ directory: config.environments.path() }),
        plain: plainFile(config.environments.path()),
        baseline: 'plain file',
      }),
    async sqlite(config) {
      const storage = await prepared(sqliteStorage({ filename: config.environments.sqliteFile() }))
      const plain = plainSqliteTable(config.environments.sqliteFile())
      const entries = await measureBlobs(config, {
        storage: 'sqlite',
        store: databaseBlobs(storage),
        plain,
        baseline: 'plain table',
      })
      await storage.close()
      return entries
    },
    async postgres(config) {
      const pool = await config.environments.postgresPool()
      const storage = await prepared(postgresStorage({ pool, schema: config.environments.postgresName() }))
      const plain = await plainPostgresTable(pool, config.environments.postgresName())
      const entries = await measureBlobs(config, {
        storage: 'postgres',
        store: databaseBlobs(storage),
        plain,
        baseline: 'plain table',
      })
      await storage.close()
      return entries
    },
  },
}

/** A store, and what it is compared with. */
interface Compared {
  readonly storage: StorageName
  readonly store: BlobStore
  readonly plain: PlainBlob
  readonly baseline: string
}

const KEY = '0123456789abcdef0123456789abcdef'

async function prepared(storage: StorageHandle): Promise<StorageHandle> {
  await storage.prepare([BLOBS, BLOB_PIECES])
  return storage
}

async function measureBlobs({ scale }: RunConfig, { storage, store, plain, baseline }: Compared): Promise<Entry[]> {
  const { blobMebibytes: mebibytes, slowTiming } = scale
  const size = mebibytes * MIB
  const write = {
    ours: {
      name: 'strongroom',
      prepare: () => store.delete([KEY]),
      run: () => store.write(KEY, sealedContent(size)).then(() => mebibytes),
    },
    baseline: { name: baseline, prepare: plain.remove, run: () => plain.write(sealedContent(size)).then(() => mebibytes) },
  }
  const subject = (verb: string) => ({ benchmark: `${verb} a blob of ${mebibytes} MiB`, storage, rows: 0 })
  const written = await measurePair(subject('write'), write, slowTiming)
  assertSame(await lengthOf(store, size), await plain.read())
  const read = {
    ours: { name: 'strongroom', run: () => lengthOf(store, size).then(() => mebibytes) },
    baseline: { name: baseline, run: () => plain.read().then(() => mebibytes) },
  }
  const wasRead = await measurePair(subject('read'), read, slowTiming)
  const ours = await memoryOf(async () => {
    await write.ours.prepare()
    await write.ours.run()
    await read.ours.run()
  })
  const theirs = await memoryOf(async () => {
    await write.baseline.prepare()
    await write.baseline.run()
    await read.baseline.run()
  })
  await plain.close()
  await store.close()
  const sizes = { figure: ours, baseline, baselineFigure: theirs, unit: 'MiB' } as const
  return [{ ...written, unit: 'MiB/s' }, { ...wasRead, unit: 'MiB/s' }, compareSizes(subject('resident memory added by'), sizes)]
}

async function lengthOf(store: BlobStore, end: number): Promise<number> {
  let bytes = 0
  for await (const chunk of store.read(KEY, { start: 0, end })) bytes += chunk.length
  return bytes
}

/** The highest resident memory while work runs, above that at its beginning, in MiB, and 1 at least. */
async function memoryOf(work: () => Promise<void>): Promise<number> {
  const before = process.memoryUsage.rss()
  let highest = before
  const look = () => {
    highest = Math.max(highest, process.memoryUsage.rss())
  }
  const timer = setInterval(look, 5)
  await work()
  clearInterval(timer)
  look()
  return Math.max(1, (highest - before) / MIB)
}
