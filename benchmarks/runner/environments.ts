/** Where benchmarks store data: a temporary folder of the process, and the PostgreSQL server of the run, with durable settings. */
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
  /** A new pool. */
  postgresPool(): pg.Pool
  /** Name for a new Postgres schema. */
  postgresName(): string
  /** Ends the pools and deletes the files. */
  close(): Promise<void>
}

/** Connections per pool: the default of the driver. */
const POOL_SIZE = 10

/** A folder of Linux in memory. */
const MEMORY = '/dev/shm'

/** Starts a server with the memory and checkpoint settings of a small production server, the same for every variant. */
export function startServer(): Promise<PostgresServer> {
  return startPostgres({ durable: true, settings: ['shared_buffers=512MB', 'max_wal_size=4GB'] })
}

/** `postgresUrl` is needed by benchmarks on PostgreSQL only. */
export function createEnvironments(postgresUrl?: string): Environments {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-bench-'))
  const memoryFolder = existsSync(MEMORY) ? mkdtempSync(join(MEMORY, 'strongroom-bench-')) : folder
  const removeFolder = (): void => {
    for (const one of [folder, memoryFolder]) rmSync(one, { recursive: true, force: true })
  }
  process.once('exit', removeFolder)
  let pools: pg.Pool[] = []
  let names = 0
  return {
    path: () => join(folder, `place-${++names}`),
    memoryFile: () => join(memoryFolder, `${++names}.db`),
    sqliteFile: () => join(folder, `${++names}.db`),
    postgresName: () => `bench_${process.pid}_${++names}`,
    postgresPool() {
      if (postgresUrl === undefined) throw new Error('This process has no PostgreSQL server.')
      const pool = new pg.Pool({ connectionString: postgresUrl, max: POOL_SIZE })
      pools.push(pool)
      return pool
    },
    async close() {
      await Promise.all(pools.map((pool) => pool.end()))
      pools = []
      removeFolder()
      process.removeListener('exit', removeFolder)
    },
  }
}
