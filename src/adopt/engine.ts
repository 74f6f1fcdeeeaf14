/** What adopting needs of the host's database: connections, transactions, and the pieces of SQL in which SQLite and PostgreSQL differ. */
import { VaultError } from '../core/errors.ts'
import { bareCause, errorCode } from '../core/util/causes.ts'
import type { AdoptedTable, MappedColumn } from './adopted-table.ts'
import type { Cell, ListColumn } from './sql-text.ts'
import type { TableShape } from './table-shape.ts'

/** One connection. Placeholders are `?` in both engines. */
export interface Connection {
  /** What `vault.withTransaction` joins. */
  readonly host: unknown
  /** Rows as lists of cells, in the order of the SELECT. */
  all(text: string, parameters?: readonly unknown[]): Promise<readonly (readonly Cell[])[]>
  /** Returns the number of changed rows. */
  run(text: string, parameters?: readonly unknown[]): Promise<number>
  /** Runs several statements without parameters. */
  script(text: string): Promise<void>
}

/** The settings of a transaction. */
export interface TransactionSettings {
  /** All statements read one state of the database. */
  readonly snapshot?: boolean
}

export interface Engine {
  readonly kind: 'sqlite' | 'postgres'
  /** Milliseconds that a slice aims at, and the pause after it as a multiple of its time: SQLite has one lock for all writers, and it is not fair. */
  readonly pace: { readonly sliceMs: number; readonly rest: number }
  /** The word between a list and the table that is looked up by it. */
  readonly join: string
  /** The time of the database, in seconds since 1970. */
  readonly now: string
  /** Ends a SELECT whose row must not change before the commit. */
  readonly forUpdate: string
  transaction<T>(work: (connection: Connection) => Promise<T>, settings?: TransactionSettings): Promise<T>
  /** The connection of a transaction that the application has begun. */
  joined(host: unknown): Connection
  inspect(connection: Connection, table: string): Promise<TableShape>
  /** One cell of a list that is a parameter. */
  cell(position: number, type: string): string
  /** A list of rows that is a parameter, as a table. */
  list(columns: readonly ListColumn[]): string
  /** Reads a column of the table `h` for the vault. */
  read(column: MappedColumn): string
  /** Whether a column of `h` differs from that of the list `l`, byte by byte. */
  differs(column: MappedColumn): string
  /** Statements that create what adopting stores beside the table. */
  tables(table: AdoptedTable): string
  capture(table: AdoptedTable): string
  guard(table: AdoptedTable): string
  /** Statements that remove the triggers, of capture and of guard. */
  dropTriggers(table: AdoptedTable): string
  /** Changes of the table are neither noted nor refused in this transaction, until it is switched off. */
  setOwn(connection: Connection, table: AdoptedTable, isOn: boolean): Promise<void>
  /** Lets no one else write to the table until the transaction ends. Throws `aborted` if others hold it for too long. */
  lock(connection: Connection, table: AdoptedTable): Promise<void>
  /** Holds off the switch while the transaction of the application writes. */
  share(connection: Connection, table: AdoptedTable): Promise<void>
  /** Removes what deleted values have left in the files of the database, as far as it can, and returns what it cannot reach. */
  clean(table: AdoptedTable, isThorough: boolean): Promise<string[]>
}

/** Returns the number of rows of what follows FROM. */
export async function countOf(connection: Connection, from: string): Promise<number> {
  return Number((await connection.all(`select count(*) from ${from}`))[0]?.[0])
}

/** Milliseconds to wait for a lock: meanwhile others queue behind it. */
export const LOCK_MS = 150

/** The error of a statement: its code, and no text of the engine, which can quote a value. `retry` are the codes after which the same may succeed. */
export function statementError(error: unknown, retry: readonly string[], what = 'A statement of adopting failed'): VaultError {
  if (error instanceof VaultError) return error
  const code = codeOf(error)
  const cause = bareCause(code)
  if (retry.includes(code))
    return new VaultError('aborted', `${what}: others hold what it needs (${code}). Run it again.`, [], { cause })
  if (code.startsWith('08') || code.startsWith('57P') || code.startsWith('ECONN'))
    return new VaultError('unavailable', `${what}: the database cannot be reached (${code}).`, [], { cause })
  return new VaultError('failed_precondition', `${what}: the database answers ${code}.`, [], { cause })
}

function codeOf(error: unknown): string {
  const state = typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined
  if (typeof state === 'string' && /^[0-9A-Z_]{5,40}$/.test(state)) return state
  return errorCode(error) ?? 'an error without a code'
}
