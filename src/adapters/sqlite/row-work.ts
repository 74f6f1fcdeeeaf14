/** The port's methods on rows: which statements run, what is bound, and what their rows become. */
import { sql } from 'kysely'
import { isVaultError, type VaultError } from '../../core/errors.ts'
import type { Aggregate, Cell, DeleteTarget, Filter, NewRow, Page, Patch, PhysicalType, Row } from '../../core/ports/storage.ts'
import { at, required } from '../../core/util/lists.ts'
import { conflictError, unknownColumnError } from '../errors/storage-errors.ts'
import { type BoundStatement, createSqlStatements, type SqlStatement } from '../sql/sql-statements.ts'
import { toIntegerCell } from '../sql/stored-cells.ts'
import { projectedShape, type TableShape, type TableShapes } from '../sql/table-shapes.ts'
import { type AccessPath, alongPath } from './access-path.ts'
import { expandLists } from './expand-lists.ts'
import { assertInOrder, type LatestIds } from './latest-ids.ts'
import type { LongWrites } from './long-writes.ts'
import { findRows, getRows, toCell } from './read-rows.ts'
import { isOverflowError } from './sqlite-errors.ts'
import { sqliteSqlDialect, wideSqliteSqlDialect } from './sqlite-sql-dialect.ts'
import {
  atomically,
  change,
  onlyChange,
  onlyStep,
  type RawRow,
  rollbackTransaction,
  rows,
  type Steps,
  type TableWork,
} from './table-work.ts'

/** Rows of one INSERT: larger statements were not faster when measured. */
const ROWS_AT_ONCE = 25
/** Parameters of one statement at most; SQLite's own limit is 32,766. */
const MAX_PARAMETERS = 30_000

const statements = createSqlStatements(sqliteSqlDialect)
const wideStatements = createSqlStatements(wideSqliteSqlDialect)

export interface RowWork {
  /** In a transaction that knows `latest`. */
  insert(table: string, newRows: readonly NewRow[], latest: LatestIds): TableWork<void>
  get(table: string, ids: readonly number[], columns?: readonly string[]): TableWork<readonly (Row | undefined)[]>
  /** Without a path, SQLite chooses it. */
  find(table: string, filter: Filter, page: Page, path?: AccessPath): TableWork<readonly Row[]>
  update(table: string, patches: readonly Patch[]): TableWork<readonly boolean[]>
  delete(table: string, target: DeleteTarget): TableWork<readonly number[]>
  aggregate(table: string, filter: Filter, aggregates: readonly Aggregate[], path?: AccessPath): TableWork<readonly Cell[]>
  /** Counts the rows that match, up to a limit. The filter bounds the path. */
  countUpTo(table: string, filter: Filter, limit: number, path: AccessPath): TableWork<number>
  /** The ids of the rows that match, up to a limit, in any order; not a safe integer for one that no row can have. The filter bounds the path. */
  idsUpTo(table: string, filter: Filter, limit: number, path: AccessPath): TableWork<readonly number[]>
}

export function createRowWork(shapes: TableShapes, longWrites: LongWrites): RowWork {
  const on = <T>(table: string, begin: (shape: TableShape) => Steps<T>): TableWork<T> => {
    const shape = shapes.of(table)
    return { shape, begin: () => begin(shape) }
  }
  return {
    insert(table, newRows, latest) {
      const shape = shapes.of(table)
      const [first] = newRows
      if (first !== undefined && newRows.length === 1 && shape.table.isOrdered !== true)
        return insertOne(shape, first, longWrites)
      return { shape, begin: () => insertRows(shape, newRows, { latest, longWrites }) }
    },
    get: (table, ids, columns) => getRows(projectedShape(shapes.of(table), columns), ids),
    find: (table, filter, page, path) => findRows(shapes.of(table), filter, page, path),
    update(table, patches) {
      const shape = shapes.of(table)
      const [first] = patches
      if (first !== undefined && patches.length === 1) return updateOne(shape, first, longWrites)
      return { shape, begin: () => updateRows(shape, patches, longWrites) }
    },
    delete: (table, target) => on(table, (shape) => deleteRows(shape, target)),
    aggregate: (table, filter, aggregates, path) =>
      on(table, (shape) => aggregateRows({ shape, filter: expandLists(shape, filter), aggregates, path })),
    countUpTo: (table, filter, limit, path) => on(table, (shape) => countUpTo({ shape, filter, path }, limit)),
    idsUpTo: (table, filter, limit, path) => idsUpTo({ shape: shapes.of(table), filter, path }, limit),
  }
}

/** What a handle knows of its writes. */
interface Known {
  readonly latest: LatestIds
  readonly longWrites: LongWrites
}

/** One row, as an event is one: a single step. */
function insertOne(shape: TableShape, row: NewRow, longWrites: LongWrites): TableWork<void> {
  const parameters: unknown[] = []
  pushCells(shape, row, parameters)
  return onlyChange(
    shape,
    { statement: insertStatement(shape, 1), parameters },
    { result: () => longWrites.note(row, 1), failure: atFirst },
  )
}

/** The error of a list of one. */
function atFirst(error: unknown): unknown {
  return atPosition(error, 0)
}

function* insertRows(shape: TableShape, newRows: readonly NewRow[], { latest, longWrites }: Known): Steps<void> {
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
    yield* deleteRows(shape, { ids: inserted.map((row) => row.id) })
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

function* updateRows(shape: TableShape, patches: readonly Patch[], longWrites: LongWrites): Steps<readonly boolean[]> {
  const [first] = patches
  if (first === undefined) return []
  longWrites.note(first.set, patches.length)
  return yield* atomically(applyPatches(shape, patches))
}

/** One patch, as that of the head of a chain is one: a single step. */
function updateOne(shape: TableShape, patch: Patch, longWrites: LongWrites): TableWork<readonly boolean[]> {
  longWrites.note(patch.set, 1)
  return onlyChange(shape, boundPatch(shape, patch), { result: (changed) => [changed === 1], failure: atFirst })
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

function* deleteRows(shape: TableShape, target: DeleteTarget): Steps<readonly number[]> {
  if ('ids' in target && target.ids.length === 0) return []
  const filter: Filter = 'ids' in target ? { kind: 'in', column: 'id', values: target.ids } : expandLists(shape, target.filter)
  const { statement, parameters } = statements.deleteWhere(shape, filter)
  const gone = yield* rows(statement, parameters, ['id'])
  return gone.map(([id]) => Number(id)).sort((left, right) => left - right)
}

/** The rows an aggregate or a count is over, and the path to them. */
interface Asked {
  readonly shape: TableShape
  readonly filter: Filter
  readonly path: AccessPath | undefined
}

type AskedAggregates = Asked & { readonly aggregates: readonly Aggregate[] }

function* aggregateRows(asked: AskedAggregates): Steps<readonly Cell[]> {
  if (asked.aggregates.length === 0) return []
  try {
    return yield* aggregateWith(statements, 1, asked)
  } catch (error) {
    if (!isOverflowError(error)) throw error
    return yield* aggregateWith(wideStatements, 2, asked)
  }
}

function* aggregateWith(
  by: typeof statements,
  sumParts: 1 | 2,
  { shape, filter, aggregates, path }: AskedAggregates,
): Steps<readonly Cell[]> {
  const { statement: free, parameters } = by.aggregate(shape, filter, aggregates)
  const statement = path === undefined ? free : alongPath(shape, free, path)
  const types = aggregates.map(({ column }) => (column === undefined ? undefined : shape.types.get(column)))
  const widths = aggregates.map(({ kind }) => (kind === 'sum' ? sumParts : 1))
  const names = Array.from({ length: widths.reduce((sum, width) => sum + width, 0) }, (_, index) => `m${index}`)
  const [raw = []] = yield* rows(statement, parameters, names)
  let start = 0
  return aggregates.map(({ kind }, index) => {
    const width = at(widths, index)
    const parts = raw.slice(start, start + width)
    start += width
    return toAggregate(kind, types[index], parts)
  })
}

const counts = new WeakMap<SqlStatement, SqlStatement>()
const idLists = new WeakMap<SqlStatement, SqlStatement>()

/** What a count selects, as its statement spells it. */
const COUNTED = 'count(*) as "m0"'
/** An id as a double: `node:sqlite` refuses the whole list for an integer beyond 2^53. */
const LISTED = 'cast("id" as real)'

/** Ends at the limit, because SQLite reads a limited subquery no further. */
function* countUpTo(asked: Asked, limit: number): Steps<number> {
  const { whole, parameters } = countAlongPath(asked)
  const statement = counts.get(whole) ?? { text: `select ${COUNTED} from (${whole.text.replace(COUNTED, '1')} limit ?)` }
  counts.set(whole, statement)
  const [row] = yield* rows(statement, [...parameters, limit], ['m0'])
  return Number(row?.[0])
}

function idsUpTo(asked: Asked, limit: number): TableWork<readonly number[]> {
  const { whole, parameters } = countAlongPath(asked)
  const statement = idLists.get(whole) ?? { text: `${whole.text.replace(COUNTED, LISTED)} limit ?` }
  idLists.set(whole, statement)
  const step = { kind: 'column', statement, parameters: [...parameters, limit], columns: ['id'] } as const
  return onlyStep(asked.shape, step, ({ rows: [ids = []] }) => ids.map(Number))
}

function countAlongPath({ shape, filter, path }: Asked): {
  readonly whole: SqlStatement
  readonly parameters: readonly unknown[]
} {
  const { statement: free, parameters } = statements.aggregate(shape, filter, [{ kind: 'count' }])
  return { whole: path === undefined ? free : alongPath(shape, free, path), parameters }
}

function toAggregate(kind: Aggregate['kind'], type: PhysicalType | undefined, parts: RawRow): Cell {
  if (kind !== 'sum') return toCell(kind === 'count' ? 'integer' : (type ?? 'integer'), parts[0])
  if (parts[0] === null) return null
  const [high, low] = parts.map((part) => BigInt(toIntegerCell(String(part))))
  const first = required(high, 'A sum')
  return toIntegerCell(low === undefined ? first : (first << 32n) + low)
}
