/** The storage port: physical tables of cells in a database engine. The port does not know vaults. Source: docs/storage-port.md. */
import type { ClosedByUsing } from '../util/causes.ts'
import type { Slab } from '../util/memory.ts'

/** Highest row id: a pointer has 48 bits for it. */
export const MAX_ROW_ID = 2 ** 48 - 1

/**
 * The content of one stored cell. Integers are returned as a number if |n| < 2^53, else as a bigint. Both are accepted.
 *
 * Bytes that a storage is given can share their memory with those of other calls. It copies what it keeps, and never changes or transfers
 * them, also not when its call has ended. Bytes that it returns are the caller's, who can overwrite or free them.
 */
export type Cell = string | number | bigint | Uint8Array | null

/** The types of physical columns. `integer` is 64-bit signed, `real` a double, `text` compares by code point, `bytes` byte by byte. */
export type PhysicalType = 'integer' | 'real' | 'text' | 'bytes'

/** A column of a physical table. Every column accepts null. */
export interface PhysicalColumn {
  readonly name: string
  readonly type: PhysicalType
  /** True for texts of at most 64 characters, which every engine can index whole. Default: texts of any length. */
  readonly isShort?: boolean
  /** Bytes of each cell of a column of bytes, where all have as many. Default: any number. */
  readonly byteLength?: number
}

/** An index over one or more columns. A unique index allows any number of rows with a null in it. */
export interface PhysicalIndex {
  readonly columns: readonly string[]
  readonly unique: boolean
}

/**
 * A table for `prepare`. Besides `columns`, every table has `id` (integer, primary key) and `version` (integer, default 1 on insert,
 * incremented by every update). These two are not listed here.
 */
export interface PhysicalTable {
  readonly name: string
  readonly columns: readonly PhysicalColumn[]
  readonly indexes: readonly PhysicalIndex[]
  /**
   * True if ids must rise in the order of commits: a row with an id that is not above those of all rows committed before is a `conflict` on `id`.
   * Ids that `reserveIds` returns inside a transaction are above them. Engines whose transactions are `concurrent` ignore it. Default false.
   */
  readonly isOrdered?: boolean
}

/** How tables are prepared. */
export interface PrepareOptions {
  /**
   * True to build the missing indexes of existing tables while others write them, where the engine can. It takes longer and waits for open
   * transactions. Inside a transaction it has no effect. Default false: writers of a table wait for its index.
   */
  readonly besideWriters?: boolean
}

/** What `drop` drops: whole tables, columns with the indexes on them, or one index, as it was prepared. */
export type DropTarget =
  | { readonly kind: 'tables'; readonly tables: readonly string[] }
  | { readonly kind: 'columns'; readonly table: string; readonly columns: readonly string[] }
  | { readonly kind: 'index'; readonly table: string; readonly index: PhysicalIndex }

/** A stored row: `id`, `version`, and every column of its table, or those that `Page.columns` names. */
export interface Row {
  readonly id: number
  readonly version: number
  readonly [column: string]: Cell
}

/** A row to insert. An absent column is null, an absent `version` is 1. `id` is from 1 to MAX_ROW_ID. */
export interface NewRow {
  readonly id: number
  readonly [column: string]: Cell
}

/** A change of some columns of one row. */
export interface Patch {
  readonly id: number
  /** The version that the row must have for the patch to be applied. */
  readonly version: number
  readonly set: Readonly<Record<string, Cell>>
  /** Cells that the row must have as well: a row that was changed without its version is noticed. Null equals null. Default: none. */
  readonly expected?: Readonly<Record<string, Cell>>
}

/** Changes of several tables that are stored together. No row occurs twice. */
export interface Changes {
  readonly updates: readonly { readonly table: string; readonly patches: readonly Patch[] }[]
  readonly inserts: readonly { readonly table: string; readonly rows: readonly NewRow[] }[]
}

/**
 * A condition on rows, with the three-valued logic of SQL: a comparison with null is unknown, and a row matches only if the result is
 * true. Values have the type of their column. `in` an empty list is false, even for null. `isNull` is never unknown.
 */
export type Filter =
  | { readonly kind: 'all' }
  | { readonly kind: 'and'; readonly filters: readonly Filter[] }
  | { readonly kind: 'or'; readonly filters: readonly Filter[] }
  | { readonly kind: 'not'; readonly filter: Filter }
  | {
      readonly kind: 'compare'
      readonly column: string
      readonly operator: '=' | '<>' | '<' | '<=' | '>' | '>='
      readonly value: Exclude<Cell, null>
    }
  | { readonly kind: 'in'; readonly column: string; readonly values: readonly Exclude<Cell, null>[] }
  | { readonly kind: 'isNull'; readonly column: string }

/** A part of the rows that match a filter. */
export interface Page {
  /** Order by id: rising or falling. */
  readonly order: 'asc' | 'desc'
  /** Only rows after this id, in the direction of `order`. */
  readonly after?: number
  /** Number of rows to skip first. Default 0. */
  readonly offset?: number
  /** Maximum number of rows. */
  readonly limit: number
  /** Returns only these columns, `id` and `version`. Default: all columns. */
  readonly columns?: readonly string[]
  /**
   * True for rows that must be as others committed them last, also in a transaction that reads an earlier state. Throws `aborted` there if
   * one of the rows was changed since. Default false.
   */
  readonly newest?: boolean
}

/** A part of a column to read. */
export interface ColumnPage {
  readonly column: string
  /** Only rows with ids above this. Default: all. */
  readonly after?: number
  /** Maximum number of cells. */
  readonly limit: number
}

/** A part of a column, cell by cell. */
export interface ColumnCells {
  /** One cell for each row, in the order of ids. There can be fewer than the limit, or none, also where more follow. */
  readonly cells: readonly Cell[]
  /** The id after which the next part begins; undefined at the end. */
  readonly next: number | undefined
}

/** A part of a column of bytes, without an object for each row. */
export interface BytesPart {
  /** The ids of its rows, rising. There can be fewer than the limit, or none, also where more follow. */
  readonly ids: readonly number[]
  /** One cell for each row, side by side, in memory that is not that of a stored row. Null is empty. */
  readonly cells: Slab
  /** Frees the memory of the cells, where that is possible before it is collected as garbage. The caller no longer uses them. */
  free?(): void
  /** The id after which the next part begins; undefined at the end. */
  readonly next: number | undefined
}

/** What a scan returns, by its shape. */
export interface ScanParts {
  readonly column: ColumnCells
  readonly bytes: BytesPart
}

/** The shape in which a scan returns a column: cell by cell, or bytes side by side, with the ids of their rows. */
export type ScanShape = keyof ScanParts

/** A part of a column to read, and its shape. */
export interface ScanPage<Shape extends ScanShape = ScanShape> extends ColumnPage {
  readonly shape: Shape
}

/** The scans of an engine, by shape, from which it makes its `scan`. */
export type Scans = {
  readonly [Shape in ScanShape]: (table: string, filter: Filter, page: ColumnPage) => Promise<ScanParts[Shape]>
}

/**
 * An aggregate over the rows that match a filter, computed by the engine. Nulls are ignored. `sum` is of integers only: core adds doubles
 * itself, because engines round after each value.
 */
export interface Aggregate {
  readonly kind: 'count' | 'sum' | 'min' | 'max'
  /** Required, except for `count`, which then counts rows. */
  readonly column?: string
}

/** The rows to delete: by id, or all that match a filter. */
export type DeleteTarget = { readonly ids: readonly number[] } | { readonly filter: Filter }

/** How changes are stored. */
export interface CommitOptions {
  /** A row to read with them, as it was before: the changes are stored only if it exists. Default: none. */
  readonly read?: { readonly table: string; readonly id: number } | undefined
}

/** What `lock` locks: tables and rows against writers, and the id of a row, whether or not it exists, against others that lock it. */
export type LockTarget =
  | { readonly kind: 'tables'; readonly tables: readonly string[]; readonly waitMs?: number }
  | { readonly kind: 'rows'; readonly table: string; readonly ids: readonly number[] }
  | { readonly kind: 'id'; readonly table: string; readonly id: number }

/**
 * One storage engine. All methods are required. They take and return lists, and an empty list gives an empty list. Tables and columns
 * are named as in `prepare`. A call that throws has changed nothing, except after `outcome_unknown`. All errors are `VaultError`s,
 * and none quotes a cell:
 * - `conflict`: a unique index is violated. Details are `{ table, columns, index? }`: the columns of the violated index, and the
 *   position from 0 of the row or patch in the call, if the engine knows it.
 * - `unavailable`: the engine cannot be reached. Nothing was stored, and the call can be retried.
 * - `outcome_unknown`: the connection was lost during COMMIT, or during `commit`. Whether the changes are stored is unknown.
 * - `aborted`: the call lost to concurrent writers in every attempt. Nothing was stored, and the call can be retried.
 * - `storage_full`: the disk or the row ids are full.
 * - `failed_precondition`: the existing tables do not fit. Only from `prepare`.
 * - `data_loss`: a stored cell is no value of its column's type.
 * - `internal`: everything else, such as misuse of the port.
 */
export interface Storage {
  /** Whether transactions of this engine wait for each other, as with the one writer of SQLite, or run concurrently. */
  readonly transactions: 'serial' | 'concurrent'
  /**
   * Creates missing tables, columns and indexes. Never drops or changes one. Throws `failed_precondition`, with the table and columns
   * in the details, if a column exists with another type or if duplicates prevent a unique index; nothing is changed then, except that
   * `besideWriters` keeps what it made before. Concurrent calls are safe.
   */
  prepare(tables: readonly PhysicalTable[], options?: PrepareOptions): Promise<void>
  /**
   * Drops all targets or none, also of tables that this handle did not prepare. What is missing is passed over. This handle then knows a table without its dropped columns,
   * and no dropped table. Other handles must no longer read them. Waits for open transactions that use the tables, and lets later ones
   * wait meanwhile: throws `unavailable` after `waitMs`, by default 30 seconds.
   */
  drop(targets: readonly DropTarget[], options?: { readonly waitMs?: number }): Promise<void>
  /**
   * Returns `count` rising ids, from 1, that no row of this table ever had. A handle never returns an id twice; gaps are allowed. After a
   * rollback, another handle can return ids that no row had. Throws `storage_full` above MAX_ROW_ID.
   */
  reserveIds(table: string, count: number): Promise<readonly number[]>
  /** Inserts all rows or none. Throws `conflict` if an id or a value of a unique index exists. */
  insert(table: string, rows: readonly NewRow[]): Promise<void>
  /** Returns one row for each id, in order and with repeats; undefined if it does not exist. */
  get(table: string, ids: readonly number[]): Promise<readonly (Row | undefined)[]>
  /** Returns the rows that match a filter, in the order of the page. */
  find(table: string, filter: Filter, page: Page): Promise<readonly Row[]>
  /**
   * Returns a part of one column in the rows that match a filter, in rising order of ids, in the shape of the page. It costs less than rows. Throws
   * `internal` for the shape `bytes` of a column of another type.
   */
  scan<Shape extends ScanShape>(table: string, filter: Filter, page: ScanPage<Shape>): Promise<ScanParts[Shape]>
  /**
   * Applies each patch whose `version` and `expected` cells equal the stored ones, and increments the version. Patches are applied in order, also several of one row.
   * Returns one boolean per patch, in order: whether it was applied. Throws `conflict` without applying any.
   */
  update(table: string, patches: readonly Patch[]): Promise<readonly boolean[]>
  /**
   * Stores all changes or none, with as few round trips as the engine allows: outside a transaction it commits them, inside it is a
   * savepoint. Returns true. With `read`, returns the row in place of true, of one state of the database with the changes, and undefined, with
   * nothing changed, if there is no such row. Returns false, with nothing changed, if a patch does not apply, or if another open transaction
   * has locked the id of its row, for which it does not wait. Throws `conflict` as `insert` and `update` do.
   */
  commit(changes: Changes, options?: CommitOptions): Promise<Row | boolean | undefined>
  /** Deletes rows. Returns the ids of the deleted rows, in rising order. */
  delete(table: string, target: DeleteTarget): Promise<readonly number[]>
  /** Returns one cell per aggregate, in order. Sums are exact at any size. Without rows, `count` is 0 and the others are null. */
  aggregate(table: string, filter: Filter, aggregates: readonly Aggregate[]): Promise<readonly Cell[]>
  /**
   * Inside a transaction: locks until the transaction ends, and returns true. An engine with one writer at a time has nothing to do.
   * - `tables`: waits until no other open transaction has written these tables, and keeps others from writing them. Readers do not wait. Throws
   *   `unavailable` after `waitMs`, by default 30 seconds.
   * - `rows`: waits for other open transactions that have written or locked these rows, one after the other in the order of their ids, and lets
   *   others wait that write them. An id without a row is passed over.
   * - `id`: never waits, and stops no one from writing the row. Returns false if another open transaction has locked the same, or rarely
   *   without need.
   *
   * Later statements see what the awaited transactions committed.
   */
  lock(target: LockTarget): Promise<boolean>
  /**
   * Runs `work` in one transaction and returns its result. If `work` throws, the transaction is rolled back and the error is rethrown
   * unchanged. Nested calls are savepoints. `work` can run again after a deadlock or a serialization failure, unless the options say otherwise. Inside `work`, only the
   * storage passed to it can be used.
   */
  transaction<T>(work: (storage: Storage) => Promise<T>, options?: TransactionOptions): Promise<T>
}

/** How a transaction runs. */
export interface TransactionOptions {
  /**
   * True for work that waits for its caller, or that goes on for too long without the event loop: the event loop turns while the transaction is
   * open, also where `mayTurn` would say that it should not. A nested one is as the one around it. Default false.
   */
  readonly takesTurns?: boolean
  /** True for work that must not run again: a deadlock or a serialization failure is `aborted` at once. Default false. */
  readonly runsOnce?: boolean
}

/** The methods of a storage that change no stored row. */
export type StorageReads = Pick<Storage, 'prepare' | 'reserveIds' | 'get' | 'find' | 'scan' | 'aggregate'>

/** A table as a storage has it, also if this handle did not prepare it. */
export interface StoredTable {
  readonly name: string
  /** Its columns without `id` and `version`, in any order. */
  readonly columns: readonly Pick<PhysicalColumn, 'name' | 'type'>[]
  /** From 1, and above all ids that `reserveIds` returned for rows of the snapshot. */
  readonly nextId: number
}

/** One committed state of a storage, to be read by many calls. */
export interface Snapshot extends Pick<Storage, 'get' | 'find' | 'aggregate'> {
  /** All tables of the form that `prepare` creates, by name. An application can have tables of that form beside them. */
  readonly tables: readonly StoredTable[]
}

/** What was done about the bytes of deleted rows, or a place where they can remain: a word that does not change, and a sentence for an operator. */
export interface DiskNote {
  readonly what: string
  readonly text: string
}

/** What `purgeDisk` did, and where bytes of deleted rows can remain after it. */
export interface DiskReport {
  readonly done: readonly DiskNote[]
  readonly remains: readonly DiskNote[]
}

/** How `purgeDisk` works. */
export interface DiskPurge {
  /** True to rewrite tables also where the engine must keep their readers out meanwhile. */
  readonly full: boolean
  /** Called between two steps, and awaited. What it throws ends the purge, and is rethrown unchanged. */
  onStep(steps: { readonly done: number; readonly total: number }): Promise<void>
}

/** A storage as an application opens it: the port, and methods of the handle. */
export interface StorageHandle extends Storage {
  /**
   * Runs work once, on one state that was committed. Writers go on meanwhile, and are not seen. It can read all tables, also those that were not
   * prepared, for as long as it likes. Its errors are rethrown unchanged.
   */
  snapshot<T>(work: (snapshot: Snapshot) => Promise<T>): Promise<T>
  /**
   * From now on `reserveIds` returns only ids from `next` on, which is from 1 to MAX_ROW_ID + 1. Ids that are higher already stay so. A handle that
   * has reserved ids of this table before can go on with what it has left.
   */
  raiseIds(table: string, next: number): Promise<void>
  /**
   * Takes the bytes of deleted rows, and of earlier versions of rows, out of its files, also those of tables that were not prepared, and says what
   * it cannot reach. Throws `internal` inside a transaction, and `unavailable` where other users of the database are in the way for too long: what was
   * done then stays done, and rows are as before.
   */
  purgeDisk(purge: DiskPurge): Promise<DiskReport>
  /** Returns this storage inside a transaction that the application opened on the same database. The application commits it. */
  joinTransaction(hostTransaction: unknown): Storage
  /**
   * True if the running code was called from inside a transaction of this handle that has not ended. The vault then refuses a call on
   * the outer handle, which could wait for the transaction, and the transaction for it.
   */
  isInsideTransaction(): boolean
  /**
   * False if the running code was called from inside a transaction of this handle in which the event loop must not turn: other users of the
   * database in this process would stop the process while they wait for its end. Core and the engine then take no turns until it ends. Always
   * true where no connection waits like that.
   */
  mayTurn(): boolean
  /**
   * How long `close` waits for calls in progress, in milliseconds. A vault that closes waits no longer for its own. Infinity where what is in
   * progress does not depend on a network: it is waited for until it ends.
   */
  readonly closeMs: number
  /**
   * Closes the connections and files that this handle opened, when the calls in progress have ended, or after `withinMs`: with 0 those still in
   * progress fail at once. Default: `closeMs`.
   */
  close(withinMs?: number): Promise<void>
}

/** A storage of this package, which `await using` closes. An interface, because the compiler names it where an application exports one. */
export interface DisposableStorage extends StorageHandle, ClosedByUsing {}
