/** Benchmark: a long blob written and read in each store, against the same bytes in a plain file or table, and the memory that it takes. */
import { folderBlobs } from '../../src/adapters/blobs/index.ts'
import { postgresStorage } from '../../src/adapters/postgres/index.ts'
import { sqliteStorage } from '../../src/adapters/sqlite/index.ts'
import { databaseBlobs } from '../../src/core/file-store/database-blobs.ts'
import type { BlobStore } from '../../src/core/ports/blobs.ts'
import type { StorageHandle } from '../../src/core/ports/storage.ts'
import { BLOB_PIECES, BLOBS } from '../../src/core/schema/system-tables.ts'
import { plainFile, plainPostgresTable, plainSqliteTable } from '../baselines/plain-blobs.ts'
import { type Contents, measureContents } from '../measuring/measure-contents.ts'
import type { Benchmark } from '../runner/run-config.ts'

export const blobsBenchmark: Benchmark = {
  names: ['blobs'],
  storages: {
    none: (config) =>
      measureContents(config, {
        storage: 'none',
        what: 'a blob',
        contents: blobsOf(folderBlobs({ directory: config.environments.path() })),
        plain: plainFile(config.environments.path()),
        baseline: 'plain file',
      }),
    async sqlite(config) {
      const storage = await prepared(sqliteStorage({ filename: config.environments.sqliteFile() }))
      const plain = plainSqliteTable(config.environments.sqliteFile())
      const entries = await measureContents(config, {
        storage: 'sqlite',
        what: 'a blob',
        contents: blobsOf(databaseBlobs(storage)),
        plain,
        baseline: 'plain table',
      })
      await storage.close()
      return entries
    },
    async postgres(config) {
      const pool = config.environments.postgresPool()
      const storage = await prepared(postgresStorage({ pool, schema: config.environments.postgresName() }))
      const plain = await plainPostgresTable(pool, config.environments.postgresName())
      const entries = await measureContents(config, {
        storage: 'postgres',
        what: 'a blob',
        contents: blobsOf(databaseBlobs(storage)),
        plain,
        baseline: 'plain table',
      })
      await storage.close()
      return entries
    },
  },
}

const KEY = '0123456789abcdef0123456789abcdef'

async function prepared(storage: StorageHandle): Promise<StorageHandle> {
  await storage.prepare([BLOBS, BLOB_PIECES])
  return storage
}

/** Returns one blob of a store. */
function blobsOf(store: BlobStore): Contents {
  return {
    verbs: ['write', 'read'],
    remove: () => store.delete([KEY]),
    write: (content) => store.write(KEY, content),
    read: (end) => store.read(KEY, { start: 0, end }),
    close: () => store.close(),
  }
}
