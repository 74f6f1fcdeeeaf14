/** What changes rows: inserts, patches and deletions as statements, and what they bind. */
import { sql } from 'kysely'
import { isVaultError, type VaultError } from '../../core/errors.ts'
import type { Cell, DeleteTarget, Filter, NewRow, Patch } from '../../core/ports/storage.ts'
import { at } from '../../core/util/lists.ts'
import { conflictError, unknownColumnError } from '../errors/storage-errors.ts'
import { type BoundStatement, createSqlStatements, type SqlStatement } from '../sql/sql-statements.ts'
import type { TableShape } from '../sql/table-shapes.ts'
import { expandLists } from './access-path.ts'
import {
  atomically,
  change,
  changeStep,
  nothing,
  onlyStep,
  rollbackTransaction,
  rows,
  type Steps,
  type TableWork,
} from './connection.ts'
import { assertInOrder, type LatestIds } from './ids.ts'
import { sqliteSqlDialect } from './sqlite-sql-dialect.ts'
import type { LongWrites } from './writer.ts'

/** Rows of one INSERT: larger statements were not faster when measured. */
const ROWS_AT_ONCE = 25
/** Parameters of one statement at most; SQLite's own limit is 32,766. */
const MAX_PARAMETERS = 30_000

const statements = createSqlStatements(sqliteSqlDialect)

/** What a handle and its transaction know of writes. */
export interface Known {
  readonly latest: LatestIds
  readonly longWrites: LongWrites
}

/** `Storage.insert`, in a transaction that knows `latest`. */
export function insertRows(shape: TableShape, newRows: readonly NewRow[], known: Known): TableWork<void> {
  const [first] = newRows
  if (first !== undefined && newRows.length === 1 && shape.table.isOrdered !== true) return insertOne(shape, first, known)
  return { shape, begin: () => insertSlices(shape, newRows, known) }
}

/** One row, as an event is one: a single step. */
function insertOne(shape: TableShape, row: NewRow, { longWrites }: Known): TableWork<void> {
  const parameters: unknown[] = []
  pushCells(shape, row, parameters)
  return onlyStep(shape, changeStep(insertStatement(shape, 1), parameters), () => longWrites.note(row, 1), atFirst)
}

/** The error of a list of one. */
function atFirst(error: unknown): unknown {
  return atPosition(error, 0)
}

function* insertSlices(shape: TableShape, newRows: readonly NewRow[], { latest, longWrites }: Known): Steps<void> {
  if (shape.table.isOrdered === true) yield* assertInOrder(shape, newRows, latest)
  const atOnce = Math.max(1, Math.min(ROWS_AT_ONCE, Math.floor(MAX_PARAMETERS / shape.columns.length)))
  let done = 0
  try {
    while (done < newRows.length) {
      const slice = newRows.slice(done, done + atOnce)
      yield* insertSlice(shape, slice, done)
      // The rows of a statement are mostly alike: looking at each would cost more than it shows.
      longWrites.note(at(slice, 0), slice.length)
      done += slice.length
    }
  } catch (error) {
    const failed = isVaultError(error, 'conflict')
      ? yield* findConflict({ shape, newRows, atOnce }, done, error)
      : { error, done }
    yield* undoInsert(shape, newRows.slice(0, failed.done))
    throw failed.error
  }
}

/** Finds the row in conflict: SQLite undid the statement and does not name it, so the rows are inserted one by one. */
function* findConflict(
  { shape, newRows, atOnce }: { readonly shape: TableShape; readonly newRows: readonly NewRow[]; readonly atOnce: number },
  start: number,
  conflict: VaultError,
): Steps<{ readonly error: unknown; readonly done: number }> {
  let done = start
  try {
    for (const row of newRows.slice(start, start + atOnce)) {
      yield* insertSlice(shape, [row], done)
      done++
    }
  } catch (error) {
    return { error, done }
  }
  return { error: conflict, done }
}

/**
 * Deletes what was inserted before a row failed. A savepoint would do the same and cost every insert that succeeds a copy
 * of each index page it touches. If the deletion fails too, the whole transaction is rolled back.
 */
function* undoInsert(shape: TableShape, inserted: readonly NewRow[]): Steps<void> {
  try {
    yield* deleteThose(shape, { ids: inserted.map((row) => row.id) })
  } catch {
    yield* rollbackTransaction()
  }
}

function* insertSlice(shape: TableShape, slice: readonly NewRow[], start: number): Steps<void> {
  const parameters: unknown[] = []
  for (const row of slice) pushCells(shape, row, parameters)
  try {
    yield* change(insertStatement(shape, slice.length), parameters)
  } catch (error) {
    throw slice.length === 1 ? atPosition(error, start) : error
  }
}

/** Appends the cells of a row in the order of the table's columns. */
function pushCells(shape: TableShape, row: NewRow, parameters: unknown[]): void {
  let named = 0
  for (const { name, type } of shape.columns) {
    const cell = row[name]
    if (cell === undefined) {
      parameters.push(name === 'version' ? 1 : null)
    } else {
      named++
      parameters.push(sqliteSqlDialect.bindCell(type, cell))
    }
  }
  let given = 0
  for (const _ in row) given++
  if (given !== named) refuseUnknown(shape, row)
}

function refuseUnknown(shape: TableShape, cells: Readonly<Record<string, unknown>>): void {
  for (const column of Object.keys(cells)) if (!shape.types.has(column)) throw unknownColumnError(shape.name, column)
}

function atPosition(error: unknown, index: number): unknown {
  if (!isVaultError(error, 'conflict')) return error
  const { table = '', columns = [] } = at(error.details, 0)
  return conflictError(table, columns, error.cause instanceof Error ? { index, cause: error.cause } : { index })
}

const insertsOfOne = new WeakMap<TableShape, SqlStatement>()

function insertStatement(shape: TableShape, count: number): SqlStatement {
  const known = count === 1 ? insertsOfOne.get(shape) : undefined
  if (known !== undefined) return known
  const statement = makeInsert(shape, count)
  if (count === 1) insertsOfOne.set(shape, statement)
  return statement
}

function makeInsert(shape: TableShape, count: number): SqlStatement {
  return statements.once(`insert ${shape.key} ${count}`, (slots) => {
    const names = sql.join(shape.columns.map((column) => sql.id(column.name)))
    const tuple = () => sql`(${sql.join(shape.columns.map(() => sql.val(slots.next())))})`
    const text = sql`insert into ${sqliteSqlDialect.tableName(shape.name)} (${names}) values ${sql.join(Array.from({ length: count }, tuple))}`
    return { compile: () => text.compile(sqliteSqlDialect.compiler) }
  })
}

/** `Storage.update`. One patch, as that of the head of a chain is one, is a single step. */
export function updateRows(shape: TableShape, patches: readonly Patch[], longWrites: LongWrites): TableWork<readonly boolean[]> {
  const [first] = patches
  if (first === undefined) return { shape, begin: nothing }
  longWrites.note(first.set, patches.length)
  if (patches.length > 1) return { shape, begin: () => atomically(applyPatches(shape, patches)) }
  const { statement, parameters } = boundPatch(shape, first)
  return onlyStep(shape, changeStep(statement, parameters), ({ changed }) => [changed === 1], atFirst)
}

function* applyPatches(shape: TableShape, patches: readonly Patch[]): Steps<readonly boolean[]> {
  const applied: boolean[] = []
  for (const [index, patch] of patches.entries()) {
    const { statement, parameters } = boundPatch(shape, patch)
    try {
      applied.push((yield* change(statement, parameters)) === 1)
    } catch (error) {
      throw atPosition(error, index)
    }
  }
  return applied
}

function boundPatch(shape: TableShape, { id, version, set, expected = NO_CELLS }: Patch): BoundStatement {
  const columns = Object.keys(set)
  const compared = Object.keys(expected)
  const parameters = columns.map((column) => bindNamed(shape, column, set[column] ?? null))
  parameters.push(id, version)
  for (const column of compared) parameters.push(bindNamed(shape, column, expected[column] ?? null))
  return { statement: updateStatement(shape, columns, compared), parameters }
}

const NO_CELLS: Readonly<Record<string, Cell>> = {}

/** A statement, and the columns that it sets and compares. */
interface UpdateOfColumns {
  readonly columns: readonly string[]
  readonly compared: readonly string[]
  readonly statement: SqlStatement
}

/** The last one of each table: patches of a table mostly have the same columns, and making the key of a statement costs as much as binding it. */
const lastUpdates = new WeakMap<TableShape, UpdateOfColumns>()

function updateStatement(shape: TableShape, columns: readonly string[], compared: readonly string[]): SqlStatement {
  const last = lastUpdates.get(shape)
  if (last !== undefined && hasNames(last.columns, columns) && hasNames(last.compared, compared)) return last.statement
  const statement = statements.update(shape, columns, compared)
  lastUpdates.set(shape, { columns, compared, statement })
  return statement
}

function hasNames(names: readonly string[], others: readonly string[]): boolean {
  return names.length === others.length && names.every((name, index) => name === others[index])
}

function bindNamed(shape: TableShape, column: string, cell: Cell): unknown {
  const type = shape.types.get(column)
  if (type === undefined) throw unknownColumnError(shape.name, column)
  return sqliteSqlDialect.bindCell(type, cell)
}

/** `Storage.delete`. */
export function deleteRows(shape: TableShape, target: DeleteTarget): TableWork<readonly number[]> {
  return { shape, begin: () => deleteThose(shape, target) }
}

function* deleteThose(shape: TableShape, target: DeleteTarget): Steps<readonly number[]> {
  if ('ids' in target && target.ids.length === 0) return []
  const filter: Filter = 'ids' in target ? { kind: 'in', column: 'id', values: target.ids } : expandLists(shape, target.filter)
  const { statement, parameters } = statements.deleteWhere(shape, filter)
  const gone = yield* rows(statement, parameters, ['id'])
  return gone.map(([id]) => Number(id)).sort((left, right) => left - right)
}
