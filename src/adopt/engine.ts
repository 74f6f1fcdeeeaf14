/** What adopting needs of the host's database: connections, transactions, and the pieces of SQL in which SQLite and PostgreSQL differ. */
import { VaultError } from '../core/errors.ts'
import { bareCause, errorCode } from '../core/util/causes.ts'
import type { AdoptedTable, KeyColumn, MappedColumn } from './adopted-table.ts'
import type { TableShape } from './table-shape.ts'

/** A cell as a driver returns it: text of every type from PostgreSQL, values of the storage classes from SQLite. */
export type Cell = string | number | bigint | Uint8Array | null

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

/** A column of a list that is passed to a statement. */
export interface ListColumn {
  /** Quoted. */
  readonly name: string
  readonly type: string
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
  /** Ends a SELECT whose row must not change before the commit. */
  readonly forUpdate: string
  transaction<T>(work: (connection: Connection) => Promise<T>, settings?: TransactionSettings): Promise<T>
  /** The connection of a transaction that the application has begun. */
  joined(host: unknown): Connection
  /** Runs one statement outside of a transaction. */
  alone(text: string): Promise<void>
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

/** Milliseconds to wait for a lock: meanwhile others queue behind it. */
export const LOCK_MS = 150

/** Quotes a name for both engines. */
export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** Quotes a text for both engines. */
export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** Returns cells as JSON text: a key in this form is compared, stored and passed on. Integers keep all their digits. */
export function toJson(cells: readonly Cell[]): string {
  return `[${cells.map(cellText).join(',')}]`
}

function cellText(cell: Cell): string {
  if (typeof cell === 'bigint') return cell.toString()
  if (cell instanceof Uint8Array) throw new VaultError('unsupported', 'A key or a value is binary, which cannot be adopted.')
  return JSON.stringify(cell)
}

/** Returns rows that are JSON texts as the parameter of a list. */
export function listOf(rows: readonly string[]): string {
  return `[${rows.join(',')}]`
}

/** `"id", "part"`, or `h."id", h."part"`. */
export function keyNames(table: { readonly key: readonly KeyColumn[] }, alias?: string): string {
  return table.key.map(({ quoted }) => (alias === undefined ? quoted : `${alias}.${quoted}`)).join(', ')
}

/** The condition under which two tables have the same key. */
export function sameKey(table: { readonly key: readonly KeyColumn[] }, left: string, right: string): string {
  return table.key.map(({ quoted }) => `${left}.${quoted} = ${right}.${quoted}`).join(' and ')
}

/** The columns of a list of keys. */
export function keyList(table: { readonly key: readonly KeyColumn[] }): ListColumn[] {
  return table.key.map(({ quoted, type }) => ({ name: quoted, type }))
}

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
