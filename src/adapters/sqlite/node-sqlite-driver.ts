/** The driver `node:sqlite`, which is a part of Node: nothing is installed or compiled for it. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { VaultError } from '../../core/errors.ts'
import { type DriverDatabase, type DriverStatement, misused, type OpenConnection } from './sqlite-driver.ts'
import type { RawRow } from './table-work.ts'

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
function readingColumn({ all, get }: DriverStatement): DriverStatement {
  return { all: (parameters) => [all(parameters).map(([cell]) => cell)], get, run: misused }
}

/** Cells of the storage port, all of which the driver accepts. */
function bound(parameters: readonly unknown[]): SQLInputValue[] {
  return parameters as SQLInputValue[]
}
