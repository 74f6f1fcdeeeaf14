/** Benchmark: a long file uploaded and opened, sealed and audited, against the same stream copied in plain, and the memory that it takes. */
import { folderBlobs } from '../../src/adapters/blobs/index.ts'
import { localKeys } from '../../src/adapters/keys/index.ts'
import { postgresStorage } from '../../src/adapters/postgres/index.ts'
import { sqliteStorage } from '../../src/adapters/sqlite/index.ts'
import type { BlobStore } from '../../src/core/ports/blobs.ts'
import type { StorageHandle } from '../../src/core/ports/storage.ts'
import { column, createVault, defineSchema } from '../../src/index.ts'
import { plainFile, plainPostgresTable, plainSqliteTable } from '../baselines/plain-blobs.ts'
import { type Contents, measureContents } from '../measuring/measure-contents.ts'
import type { Benchmark } from '../runner/run-config.ts'

/** Shares of the throughput of copying the same stream in plain. */
const FOLDER_TARGET = 0.4
const DATABASE_TARGET = 0.25

export const filesBenchmark: Benchmark = {
  names: ['files'],
  storages: {
    none: async (config) =>
      measureContents(config, {
        storage: 'none',
        what: 'a file in a folder',
        contents: await filesOf(
          sqliteStorage({ filename: config.environments.sqliteFile() }),
          folderBlobs({ directory: config.environments.path() }),
        ),
        plain: plainFile(config.environments.path()),
        baseline: 'plain file',
        target: FOLDER_TARGET,
      }),
    sqlite: async (config) =>
      measureContents(config, {
        storage: 'sqlite',
        what: 'a file',
        contents: await filesOf(sqliteStorage({ filename: config.environments.sqliteFile() })),
        plain: plainSqliteTable(config.environments.sqliteFile()),
        baseline: 'plain table',
        target: DATABASE_TARGET,
      }),
    async postgres(config) {
      const pool = config.environments.postgresPool()
      return measureContents(config, {
        storage: 'postgres',
        what: 'a file',
        contents: await filesOf(postgresStorage({ pool, schema: config.environments.postgresName() })),
        plain: await plainPostgresTable(pool, config.environments.postgresName()),
        baseline: 'plain table',
        target: DATABASE_TARGET,
      })
    },
  },
}

const schema = defineSchema({ people: { paper: column.file({ maxBytes: 2 ** 40 }) } })

/** Returns the one file of a vault. */
async function filesOf(storage: StorageHandle, blobs?: BlobStore): Promise<Contents> {
  const keys = localKeys({ key: Buffer.alloc(32, 'benchmark').toString('base64') })
  const vault = await createVault({ id: 'benchmark', schema, storage, keys, ...(blobs === undefined ? {} : { blobs }) })
  const session = vault.as({ actor: 'benchmark', actorType: 'SERVICE_ACCOUNT', roles: ['VAULT_OWNER'] })
  const { records } = await session.insert('people', [{ fields: {} }])
  const id = records[0]?.id ?? ''
  return {
    verbs: ['upload', 'open'],
    async remove() {
      const { fileStatus } = await session.fileStatus('people', id, 'paper')
      if (fileStatus === 'UPLOADED') await session.deleteFile('people', id, 'paper')
    },
    async write(content) {
      await session.uploadFile({ table: 'people', id, column: 'paper', file: content })
    },
    async *read() {
      yield* (await session.openFile('people', id, 'paper')).stream
    },
    close: () => vault.close(),
  }
}
