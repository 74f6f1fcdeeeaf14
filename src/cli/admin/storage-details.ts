/** What the engine of a storage says of itself: its version, its driver, the size of the vault, and its settings. */

import { stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import process from 'node:process'
import type { StorageConfig } from '../config/define-config.ts'
import type { LoadedConfig } from '../config/load-config.ts'
import { loaderOf } from '../config/load-driver.ts'
import { readAddress, type SecretSource } from '../config/secrets.ts'

/** Hosts that are this machine. */
export const LOCAL_HOSTS: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost'])

/** What is known of a storage; absent members are not. */
export interface StorageDetails {
  readonly engine: 'sqlite' | 'postgres' | 'function'
  readonly version?: string
  /** Name and version of the package. */
  readonly driver?: string
  /** The file, or the schema of the database. */
  readonly place?: string
  readonly bytes?: number
  /** Bytes that the disk of a file has left. */
  readonly freeBytes?: number
  /** Settings of PostgreSQL, and what its role can do. */
  readonly postgres?: {
    readonly fsync: string
    readonly synchronousCommit: string
    readonly isEncrypted: boolean
    /** True for a database on this machine, whose connection crosses no network. */
    readonly isLocal: boolean
    readonly isSuperuser: boolean
    /** How far the clock of the server is ahead of this one, in milliseconds. */
    readonly clockAheadMs: number
  }
}

/** Asks the engine. It is another connection than that of the vault, and changes nothing. Throws what the driver throws. */
export async function readStorageDetails(
  { config, file, pathOf }: LoadedConfig,
  environment: SecretSource['environment'],
): Promise<StorageDetails> {
  const { storage } = config.vault
  if (typeof storage === 'function') return { engine: 'function' }
  if ('sqlite' in storage) return sqliteDetails(storage.sqlite, { file, pathOf })
  const address = await readAddress(storage.postgres, { environment, pathOf })
  return postgresDetails(address, { schema: storage.postgres.schema ?? 'strongroom', file })
}

type SqliteConfig = Extract<StorageConfig, { readonly sqlite: unknown }>['sqlite']

async function sqliteDetails(
  { filename, driver = 'better-sqlite3' }: SqliteConfig,
  { file, pathOf }: Pick<LoadedConfig, 'file' | 'pathOf'>,
): Promise<StorageDetails> {
  const place = pathOf(filename)
  const sizes = await Promise.all(
    [place, `${place}-wal`].map((name) =>
      stat(name).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  )
  const free = await freeBytesOf(dirname(place))
  return {
    engine: 'sqlite',
    place,
    bytes: sizes.reduce((sum, size) => sum + size, 0),
    ...(free === undefined ? {} : { freeBytes: free }),
    ...(driver === 'node:sqlite'
      ? { driver: `node ${process.versions.node}`, version: process.versions.sqlite ?? 'unknown' }
      : betterSqliteDetails(file)),
  }
}

interface SqliteDatabase {
  prepare(text: string): { get(): unknown }
  close(): void
}

function betterSqliteDetails(file: string): Pick<StorageDetails, 'driver' | 'version'> {
  const load = loaderOf('better-sqlite3', file)
  const { version } = load('better-sqlite3/package.json') as { version: string }
  const Database = load('better-sqlite3') as new (name: string) => SqliteDatabase
  const database = new Database(':memory:')
  const row = database.prepare('select sqlite_version() as version').get() as { version: string }
  database.close()
  return { driver: `better-sqlite3 ${version}`, version: row.version }
}

/** Bytes that the disk of a folder has left for this account; undefined where the system does not say. */
export async function freeBytesOf(folder: string): Promise<number | undefined> {
  return statfs(folder).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => undefined,
  )
}

interface PostgresClient {
  /** A folder of sockets begins with a slash. */
  readonly host: string
  connect(): Promise<void>
  query(text: string, values?: readonly unknown[]): Promise<{ rows: readonly Record<string, unknown>[] }>
  end(): Promise<void>
}

const DETAILS = `select current_setting('server_version') as version, current_setting('fsync') as fsync,
  current_setting('synchronous_commit') as commit, extract(epoch from clock_timestamp()) * 1000 as now,
  coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false) as ssl,
  (select rolsuper from pg_roles where rolname = current_user) as super,
  (select coalesce(sum(pg_total_relation_size(c.oid)), 0) from pg_class c join pg_namespace n on n.oid = c.relnamespace
   where n.nspname = $1 and c.relkind = 'r') as bytes`

async function postgresDetails(
  connectionString: string,
  { schema, file }: { readonly schema: string; readonly file: string },
): Promise<StorageDetails> {
  const load = loaderOf('pg', file)
  const { version: driver } = load('pg/package.json') as { version: string }
  const { Client } = load('pg') as { Client: new (options: object) => PostgresClient }
  const client = new Client({ connectionString, connectionTimeoutMillis: 10_000 })
  await client.connect()
  try {
    const before = Date.now()
    const { rows } = await client.query(DETAILS, [schema])
    const now = (before + Date.now()) / 2
    const { version, fsync, commit, ssl, super: isSuperuser, bytes, now: theirs } = rows[0] ?? {}
    return {
      engine: 'postgres',
      version: String(version),
      driver: `pg ${driver}`,
      place: `schema ${schema}`,
      bytes: Number(bytes),
      postgres: {
        fsync: String(fsync),
        synchronousCommit: String(commit),
        isEncrypted: ssl === true,
        isLocal: client.host.startsWith('/') || LOCAL_HOSTS.has(client.host),
        isSuperuser: isSuperuser === true,
        clockAheadMs: Math.round(Number(theirs) - now),
      },
    }
  } finally {
    await client.end()
  }
}

/** `12.3 MB`. */
export function sizeOf(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB']
  const step = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3))
  return step === 0 ? `${bytes} bytes` : `${(bytes / 1000 ** step).toFixed(1)} ${units[step]}`
}
