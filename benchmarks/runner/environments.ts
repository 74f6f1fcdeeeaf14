/** Where benchmarks store data: a temporary folder, and one PostgreSQL server with durable settings. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { type PostgresServer, startPostgres } from '../../test/support/postgres/server.ts'

export interface Environments {
  /** Path of a new folder or file, which does not exist. */
  path(): string
  /** Path of a new SQLite file. */
  sqliteFile(): string
  /** Path of a new SQLite file in memory, where a commit does not wait for the disk. On disk if the system has no folder in memory. */
  memoryFile(): string
  /** A new pool. The first call starts the server. */
  postgresPool(): Promise<pg.Pool>
  /** Name for a new Postgres schema. */
  postgresName(): string
  /** Ends the pools, stops the server and deletes the files. */
  close(): Promise<void>
}

/** Connections per pool: the default of the driver. */
const POOL_SIZE = 10

/** A folder of Linux in memory. */
const MEMORY = '/dev/shm'

export function createEnvironments(): Environments {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-bench-'))
  const memoryFolder = existsSync(MEMORY) ? mkdtempSync(join(MEMORY, 'strongroom-bench-')) : folder
  const removeFolder = (): void => {
    for (const one of [folder, memoryFolder]) rmSync(one, { recursive: true, force: true })
  }
  process.once('exit', removeFolder)
  let server: Promise<PostgresServer> | undefined
  let pools: pg.Pool[] = []
  let names = 0
  return {
    path: () => join(folder, `place-${++names}`),
    memoryFile: () => join(memoryFolder, `${++names}.db`),
    sqliteFile: () => join(folder, `${++names}.db`),
    postgresName: () => `bench_${++names}`,
    async postgresPool() {
      // Memory and checkpoint settings of a small production server, the same for every variant.
      server ??= startPostgres({ durable: true, settings: ['shared_buffers=512MB', 'max_wal_size=4GB'] })
      const { url } = await server
      const pool = new pg.Pool({ connectionString: url, max: POOL_SIZE })
      pools.push(pool)
      return pool
    },
    async close() {
      await Promise.all(pools.map((pool) => pool.end()))
      pools = []
      await (await server)?.stop()
      removeFolder()
      process.removeListener('exit', removeFolder)
    },
  }
}
