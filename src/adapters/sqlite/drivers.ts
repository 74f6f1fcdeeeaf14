/** What this adapter needs of a SQLite driver, and the two that provide it: `better-sqlite3` and `node:sqlite`, which is a part of Node. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type Database from 'better-sqlite3'
import { VaultError } from '../../core/errors.ts'
import { errorCode, errorText, isForbidden } from '../../core/util/causes.ts'
import { requirePackage } from '../packages/require-package.ts'

/** The drivers by the names of their packages. */
export type DriverName = 'better-sqlite3' | 'node:sqlite'

/** The cells of a row, in the order of the statement. */
export type RawRow = readonly unknown[]

/** A prepared statement. Rows are arrays of cells, and integers are numbers: what exceeds 2^53 is selected as text. */
export interface DriverStatement {
  all(parameters: readonly unknown[]): readonly RawRow[]
  /** Returns the first row. Not of a `column`. */
  get(...parameters: readonly unknown[]): RawRow | undefined
  run(parameters: readonly unknown[]): { readonly changes: number }
}

/** One connection to a database file. */
export interface DriverDatabase {
  /** The path of the file, as the connection was opened with it. */
  readonly name: string
  readonly inTransaction: boolean
  /** `change` is for statements that return no rows. `all` of a `column` returns one row with the first cell of each. */
  prepare(text: string, kind: 'rows' | 'column' | 'change'): DriverStatement
  /** Returns the first cell of what the pragma answers, if it answers. */
  pragma(text: string): unknown
  close(): void
}

/** Opens a connection. `timeoutMs` is how long a call waits for the lock of another connection. */
export type OpenConnection = (filename: string, timeoutMs: number) => DriverDatabase

/** The method of a statement that was prepared for another. */
function misused(): never {
  throw new VaultError('internal', 'A statement was used for what it was not prepared for. This is a defect; please report it.')
}

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
  return { all: (parameters) => [statement.all(parameters)], get: misused, run: misused }
}

/** Returns the function that opens connections. Throws `failed_precondition` where the runtime has no such driver, or one that lacks what this adapter needs. */
export function loadNodeSqlite(): OpenConnection {
  // A static import would fail on a runtime without the module, and bundlers do not all know it.
  const found: typeof import('node:sqlite') | undefined = process.getBuiltinModule?.('node:sqlite')
  if (found === undefined || !isComplete(found)) {
    throw new VaultError(
      'failed_precondition',
      "sqliteStorage: the driver 'node:sqlite' of this runtime is missing, or does not return texts whole. Update Node: 24.21 has what is needed. Or run: npm install better-sqlite3, and pass driver: 'better-sqlite3'.",
    )
  }
  const { DatabaseSync } = found
  return (filename, timeout) => {
    // Node would read such a name as a URI.
    const path = filename.startsWith('file:') ? `./${filename}` : filename
    return nodeDatabase(new DatabaseSync(path, { timeout }), filename)
  }
}

let isKnownComplete: boolean | undefined

/** True if rows can be arrays, and if a text does not end at its first NUL, as it does in Node 22 and in the first versions of Node 24. */
function isComplete({ DatabaseSync, StatementSync }: typeof import('node:sqlite')): boolean {
  if (typeof StatementSync.prototype.setReturnArrays !== 'function') return false
  if (isKnownComplete !== undefined) return isKnownComplete
  const database = new DatabaseSync(':memory:')
  try {
    const text = 'a\0b'
    isKnownComplete = reading(database.prepare('select ?')).get(text)?.[0] === text
    return isKnownComplete
  } finally {
    database.close()
  }
}

/** A connection of Node as the adapter uses it. */
export function nodeDatabase(database: DatabaseSync, name: string): DriverDatabase {
  return {
    name,
    get inTransaction() {
      return database.isTransaction
    },
    prepare(text, kind) {
      const statement = database.prepare(text)
      if (kind === 'column') return readingColumn(reading(statement))
      return kind === 'change' ? changing(statement) : reading(statement)
    },
    pragma: (text) => reading(database.prepare(`pragma ${text}`)).get()?.[0],
    close: () => database.close(),
  }
}

function changing(statement: StatementSync): DriverStatement {
  return {
    all: misused,
    get: misused,
    run: (parameters) => ({ changes: Number(statement.run(...bound(parameters)).changes) }),
  }
}

function reading(statement: StatementSync): DriverStatement {
  statement.setReturnArrays(true)
  // An application can have set the contrary for its connection.
  statement.setReadBigInts(false)
  // It returns arrays now; the types of Node do not say so.
  return {
    all: (parameters) => statement.all(...bound(parameters)) as unknown as readonly RawRow[],
    get: (...parameters) => statement.get(...bound(parameters)) as unknown as RawRow | undefined,
    run: misused,
  }
}

/** This driver has no rows without lists. */
function readingColumn({ all }: DriverStatement): DriverStatement {
  return { all: (parameters) => [all(parameters).map(([cell]) => cell)], get: misused, run: misused }
}

/** Cells of the storage port, all of which the driver accepts. */
function bound(parameters: readonly unknown[]): SQLInputValue[] {
  return parameters as SQLInputValue[]
}

/**
 * Throws `failed_precondition` for Node before 22.14, on which a driver ends the process with a segmentation fault. Bun and Deno have the
 * version of the Node that they are like.
 */
export function assertNodeVersion(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 14)) return
  throw new VaultError(
    'failed_precondition',
    `strongroom/sqlite needs Node 22.14 or newer, and this is Node ${version}. Update Node: on an older one the driver ends the process.`,
  )
}
