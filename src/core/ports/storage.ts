/** What core asks of a storage engine: physical tables of cells, and nothing about vaults. */

/** Highest id a row may have: a pointer spends 48 bits on it. */
export const HIGHEST_ROW_ID = 2 ** 48 - 1

/** What one stored cell holds. Integers leave as a number when |n| < 2^53, else as a bigint. */
export type Cell = string | number | bigint | Uint8Array | null

/** The four kinds of column an engine must know. `integer` is 64-bit signed, `text` compares by code point. */
export type PhysicalType = 'integer' | 'real' | 'text' | 'bytes'

/** A column of a physical table; every column takes null. */
export interface PhysicalColumn {
  readonly name: string
  readonly type: PhysicalType
}

/** An index over one column or several; a unique one lets any number of rows hold null. */
export interface PhysicalIndex {
  readonly columns: readonly string[]
  readonly unique: boolean
}

/**
 * A table to be made to exist. Beside `columns` every table has `id` (integer, primary key) and `version`
 * (integer, 1 on insert unless given, raised by one on every update); neither is listed here.
 */
export interface PhysicalTable {
  readonly name: string
  readonly columns: readonly PhysicalColumn[]
  readonly indexes: readonly PhysicalIndex[]
}

/** A row as storage gives it: `id`, `version`, and every column of its table. */
export interface Row {
  readonly id: number
  readonly version: number
  readonly [column: string]: Cell
}

/** A row to insert: a column left out is null, `version` left out is 1. */
export interface NewRow {
  readonly id: number
  readonly [column: string]: Cell
}

/** Named columns to change of the row that still has this version. */
export interface Patch {
  readonly id: number
  readonly version: number
  readonly set: Readonly<Record<string, Cell>>
}

/** Which rows, in the engine's own terms. SQL logic: a comparison with null is unknown, and unknown is no match. */
export type Filter =
  | { readonly kind: 'every' }
  | { readonly kind: 'and'; readonly filters: readonly Filter[] }
  | { readonly kind: 'or'; readonly filters: readonly Filter[] }
  | { readonly kind: 'not'; readonly filter: Filter }
  | {
      readonly kind: 'compare'
      readonly column: string
      readonly operator: '=' | '<>' | '<' | '>'
      readonly value: Exclude<Cell, null>
    }
  | { readonly kind: 'in'; readonly column: string; readonly values: readonly Exclude<Cell, null>[] }
  | { readonly kind: 'isNull'; readonly column: string }

/** A window on the rows a filter finds. Rows come by id. */
export interface Page {
  readonly order: 'up' | 'down'
  /** Only rows beyond this id, in the direction of `order`. */
  readonly after?: number
  /** Rows to pass over first. */
  readonly skip?: number
  readonly limit: number
  /** Only these columns beside `id` and `version`, the others absent; every column unless given. */
  readonly columns?: readonly string[]
}

/** What to compute over the rows a filter finds, by the engine. `count` without a column counts rows. */
export interface Measure {
  readonly kind: 'count' | 'sum' | 'avg' | 'min' | 'max'
  readonly column?: string
}

/** Which rows to delete. */
export type Doomed = { readonly ids: readonly number[] } | { readonly filter: Filter }

/**
 * One storage engine. All calls are plural and all are required. Tables and columns are named as in `prepare`.
 * Errors are `VaultError`s: `conflict` with facts `{ table, columns, index? }` for a unique index, `unavailable`
 * where the engine cannot be reached or is full, `internal` for the rest; none quotes a cell.
 */
export interface Storage {
  /** Makes the tables exist and adds what is missing; refuses a retyped column or an index over duplicates with `failed_precondition` naming it. Safe to race. */
  prepare(tables: readonly PhysicalTable[]): Promise<void>
  /**
   * `count` ids that no row of this table ever had, rising; this handle gives none twice. Gaps are allowed. Ids whose
   * transaction was undone before a row had them may be given again by another handle.
   */
  reserveIds(table: string, count: number): Promise<readonly number[]>
  /** Inserts all rows or none. */
  insert(table: string, rows: readonly NewRow[]): Promise<void>
  /** The rows in the order asked, `undefined` where there is none. */
  get(table: string, ids: readonly number[]): Promise<readonly (Row | undefined)[]>
  /** The rows a filter finds, ordered by id. */
  find(table: string, filter: Filter, page: Page): Promise<readonly Row[]>
  /** Applies each patch whose version still stands and raises it; answers, per patch, whether it did. */
  update(table: string, patches: readonly Patch[]): Promise<readonly boolean[]>
  /** Deletes rows and answers the ids that went, in rising order. */
  delete(table: string, doomed: Doomed): Promise<readonly number[]>
  /** One cell per measure. Sums of integers are exact; of no rows all but `count` are null. */
  measure(table: string, filter: Filter, measures: readonly Measure[]): Promise<readonly Cell[]>
  /**
   * Runs work in one transaction and answers what it answers. A throw inside undoes everything and is rethrown
   * as it is. Nested calls are savepoints. Work may be run again after a deadlock or serialization failure.
   */
  transaction<T>(work: (storage: Storage) => Promise<T>): Promise<T>
}

/** The calls of a storage that change nothing anybody reads. */
export type StorageReads = Pick<Storage, 'reserveIds' | 'get' | 'find' | 'measure'>

/** A storage as an application holds it: the port, plus what belongs to the engine's own handle. */
export interface StorageHandle extends Storage {
  /** Whether transactions of this engine wait for each other, as behind SQLite's one writer, or run beside each other. */
  readonly transactions: 'one at a time' | 'side by side'
  /** The same storage inside a transaction the application opened itself on the same database; it commits, not we. */
  joinTransaction(hostTransaction: unknown): Storage
  /** Lets go of connections and files this handle opened. */
  close(): Promise<void>
}
