/** Opens a storage from plain data, so that another process can open the same one. */
import { postgresStorage } from '../../../src/adapters/postgres/postgres-storage.ts'
import { sqliteStorage } from '../../../src/adapters/sqlite/sqlite-storage.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'

/** A database file. */
export interface SqliteAddress {
  readonly engine: 'sqlite'
  readonly filename: string
  /** Default: that of the storage. */
  readonly synchronous?: 'full' | 'normal'
  /** Default: that of the storage. */
  readonly driver?: 'better-sqlite3' | 'node:sqlite'
}

/** A schema of a PostgreSQL database; without `schema`, the one that the storage uses by default. */
export interface PostgresAddress {
  readonly engine: 'postgres'
  readonly url: string
  readonly schema?: string
}

/** Where a storage is that more than one process can open. It survives JSON. */
export type StorageAddress = SqliteAddress | PostgresAddress

/** A new handle on the storage at this address. The caller closes it. */
export function openStorage(address: StorageAddress): StorageHandle {
  if (address.engine === 'sqlite') {
    const { engine: _, ...options } = address
    return sqliteStorage(options)
  }
  const { url, schema } = address
  return postgresStorage(schema === undefined ? { connectionString: url } : { connectionString: url, schema })
}
