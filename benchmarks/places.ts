/** Where benches keep what they store: a temporary folder, and one PostgreSQL that waits for the disk as in production. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { type PostgresServer, startPostgres } from '../test/support/postgres/server.ts'

export interface Places {
  /** A file nobody has used. */
  sqliteFile(): string
  /** A pool of its own on the server, which is started when first asked for. */
  postgresPool(): Promise<pg.Pool>
  /** A name for a Postgres schema nobody has used. */
  postgresName(): string
  /** Removes everything. */
  close(): Promise<void>
}

/** Connections in every pool: the driver's own default. */
const POOL_SIZE = 10

export function createPlaces(): Places {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-bench-'))
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true })
  process.once('exit', removeFolder)
  let server: Promise<PostgresServer> | undefined
  let pools: pg.Pool[] = []
  let names = 0
  return {
    sqliteFile: () => join(folder, `${++names}.db`),
    postgresName: () => `bench_${++names}`,
    async postgresPool() {
      // Memory and checkpoints as a small production server has them; the same for every variant.
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
