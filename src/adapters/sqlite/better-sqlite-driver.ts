/** The driver `better-sqlite3`. */
import type Database from 'better-sqlite3'
import { VaultError } from '../../core/errors.ts'
import { errorCode, errorText, isForbidden } from '../../core/util/causes.ts'
import { requirePackage } from '../packages/require-package.ts'
import { type DriverDatabase, type DriverStatement, misused, type OpenConnection } from './sqlite-driver.ts'
import type { RawRow } from './table-work.ts'

/** What needs no package. */
const OTHERWISE = "Or pass driver: 'node:sqlite' to use the SQLite of Node 24.21 and later."

/** Returns the function that opens connections. Throws `failed_precondition` if the package is not installed. */
export function loadBetterSqlite(): OpenConnection {
  const exported = requirePackage({
    user: 'sqliteStorage',
    name: 'better-sqlite3',
    otherwise: OTHERWISE,
  })
  // The package exports its class, and the test beside this file opens a database with it.
  const Driver = exported as typeof Database
  return (filename, timeoutMs) => {
    try {
      return betterSqliteDatabase(new Driver(filename, { timeout: timeoutMs }))
    } catch (error) {
      if (isAddonForbidden(error)) throw forbiddenError()
      throw isUnbuilt(error) ? unbuiltError() : error
    }
  }
}

/** True if this process may not load the compiled part of the package, by a permission of Node or Deno or by `--no-addons`. */
function isAddonForbidden(error: unknown): boolean {
  return errorCode(error) === 'ERR_DLOPEN_DISABLED' || isForbidden(error)
}

function forbiddenError(): VaultError {
  return new VaultError(
    'failed_precondition',
    'sqliteStorage: this process may not load the compiled part of better-sqlite3. Start Node with --allow-addons and without --no-addons, and ' +
      `Deno with --allow-ffi, and let them read the package. ${OTHERWISE}`,
  )
}

/** True if the compiled part of the package is missing, or was compiled for another runtime. It is loaded with the first database. */
function isUnbuilt(error: unknown): boolean {
  const code = errorCode(error)
  const isUnreadable = code === 'MODULE_NOT_FOUND' || code === 'ERR_DLOPEN_FAILED'
  return isUnreadable || errorText(error).startsWith('Could not locate the bindings file')
}

function unbuiltError(): VaultError {
  return new VaultError(
    'failed_precondition',
    `sqliteStorage cannot load the compiled part of better-sqlite3 on this runtime. Run: npm rebuild better-sqlite3. ${OTHERWISE}`,
  )
}

/** A connection of the package as the adapter uses it. Its statements are passed on as they are: a wrapper would cost each read. */
export function betterSqliteDatabase(database: Database.Database): DriverDatabase {
  return {
    name: database.name,
    get inTransaction() {
      return database.inTransaction
    },
    prepare(text, kind) {
      const statement = database.prepare<unknown[], RawRow>(text).safeIntegers(false)
      if (kind === 'column') return pluckedColumn(statement.pluck())
      return kind === 'change' ? statement : statement.raw()
    },
    pragma: (text) => database.pragma(text, { simple: true }),
    close: () => void database.close(),
  }
}

/** A statement of one column. The driver returns its cells without a list for each row. */
function pluckedColumn(statement: Database.Statement<unknown[], unknown>): DriverStatement {
  return {
    all: (parameters) => [statement.all(parameters)],
    get(...parameters) {
      const cell = statement.get(...parameters)
      return cell === undefined ? undefined : [cell]
    },
    run: misused,
  }
}
