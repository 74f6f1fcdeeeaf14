/** Recognises the transaction an application opened itself and makes a lane of it. */
import { realpathSync } from 'node:fs'
import type { Database } from 'better-sqlite3'
import type { Transaction } from 'kysely'
import { VaultError } from '../../core/errors.ts'
import type { AnyTables } from '../sql/sql-manners.ts'
import { createDriverLane, type DriverLane } from './driver-lane.ts'
import { createKyselyLane } from './kysely-lane.ts'
import type { Lane } from './table-work.ts'

/** Prepared statements are kept for as long as the application keeps its connection. */
const lanes = new WeakMap<Database, DriverLane>()

/** The lane of a host transaction on the file `filename`. */
export function joinHost(host: unknown, filename: string): Lane {
  if (isDriverDatabase(host)) return joinDriver(host, filename)
  if (isKyselyTransaction(host)) return createKyselyLane(host)
  throw new VaultError(
    'invalid_request',
    'The SQLite storage joins a better-sqlite3 Database that is inside a transaction, or a Kysely Transaction on one.',
  )
}

function joinDriver(host: Database, filename: string): DriverLane {
  if (!host.open || !host.inTransaction) {
    throw new VaultError('invalid_request', 'The better-sqlite3 Database to join is not inside a transaction; begin one first.')
  }
  if (!isSameFile(host, filename)) {
    throw new VaultError('invalid_request', 'The better-sqlite3 Database to join is open on another file than this storage.')
  }
  const lane = lanes.get(host) ?? createDriverLane(host, 'transaction')
  lanes.set(host, lane)
  return lane
}

function isSameFile(host: Database, filename: string): boolean {
  return !host.memory && realpathSync(host.name) === filename
}

/** Told by shape, not by class: the application may have its own copy of the driver. */
function isDriverDatabase(host: unknown): host is Database {
  return has(host, ['prepare', 'pragma', 'inTransaction', 'memory', 'open'])
}

function isKyselyTransaction(host: unknown): host is Transaction<AnyTables> {
  return has(host, ['executeQuery', 'withoutPlugins', 'isTransaction']) && host.isTransaction === true
}

function has<K extends string>(value: unknown, members: readonly K[]): value is Readonly<Record<K, unknown>> {
  return typeof value === 'object' && value !== null && members.every((member) => member in value)
}
