/** Joins a transaction the application opened itself, on a better-sqlite3 connection or through Kysely. */
import { realpathSync } from 'node:fs'
import type { Database } from 'better-sqlite3'
import type { Transaction } from 'kysely'
import { VaultError } from '../../core/errors.ts'
import type { AnyTables } from '../sql/sql-dialect.ts'
import { createDriverConnection, type DriverConnection } from './driver-connection.ts'
import { createKyselyConnection } from './kysely-connection.ts'
import type { Connection } from './table-work.ts'

/** Prepared statements are kept for as long as the application keeps its connection. */
const connections = new WeakMap<Database, DriverConnection>()

/** The connection of a host transaction on the file `filename`. */
export function joinHost(host: unknown, filename: string): Connection {
  if (isDriverDatabase(host)) return joinDriver(host, filename)
  if (isKyselyTransaction(host)) return createKyselyConnection(host)
  throw new VaultError(
    'invalid_request',
    'The SQLite storage joins a better-sqlite3 Database that is inside a transaction, or a Kysely Transaction on one.',
  )
}

function joinDriver(host: Database, filename: string): DriverConnection {
  if (!host.open || !host.inTransaction) {
    throw new VaultError('invalid_request', 'The better-sqlite3 Database to join is not inside a transaction. Begin one first.')
  }
  if (!isSameFile(host, filename)) {
    throw new VaultError('invalid_request', 'The better-sqlite3 Database to join is open on another file than this storage.')
  }
  const connection = connections.get(host) ?? createDriverConnection(host, 'transaction')
  connections.set(host, connection)
  return connection
}

function isSameFile(host: Database, filename: string): boolean {
  return !host.memory && realpathSync(host.name) === filename
}

/** Recognized by shape, not by class: the application may have its own copy of the driver. */
function isDriverDatabase(host: unknown): host is Database {
  return has(host, ['prepare', 'pragma', 'inTransaction', 'memory', 'open'])
}

function isKyselyTransaction(host: unknown): host is Transaction<AnyTables> {
  return has(host, ['executeQuery', 'withoutPlugins', 'isTransaction']) && host.isTransaction === true
}

function has<K extends string>(value: unknown, members: readonly K[]): value is Readonly<Record<K, unknown>> {
  return typeof value === 'object' && value !== null && members.every((member) => member in value)
}
