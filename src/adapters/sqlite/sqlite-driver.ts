/** What this adapter needs of a SQLite driver. `better-sqlite3` and `node:sqlite` provide it, and nothing else of the adapter knows which. */
import { VaultError } from '../../core/errors.ts'
import type { RawRow } from './table-work.ts'

/** The drivers by the names of their packages. */
export type DriverName = 'better-sqlite3' | 'node:sqlite'

/** A prepared statement. Rows are arrays of cells, and integers are numbers: what exceeds 2^53 is selected as text. */
export interface DriverStatement {
  all(parameters: readonly unknown[]): readonly RawRow[]
  /** Returns the first row; of a `column`, with the first cell alone. */
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
export function misused(): never {
  throw new VaultError('internal', 'A statement was used for what it was not prepared for. This is a defect; please report it.')
}
