/** The port's methods that write and aggregate rows: which queries run, one for a whole commit where it fits into one, and what their rows become. */
import type {
  Aggregate,
  Cell,
  Changes,
  CommitOptions,
  DeleteTarget,
  Filter,
  NewRow,
  Patch,
  Row,
  Storage,
} from '../../core/ports/storage.ts'
import { at } from '../../core/util/lists.ts'
import { commitInTransaction } from '../sql/nested-transaction.ts'
import type { SqlStatements } from '../sql/sql-statements.ts'
import { columnType, type TableShape, type TableShapes } from '../sql/table-shapes.ts'
import type { PreparedQuery, RawRow } from './driver-connection.ts'
import type { PackedQueries } from './packing.ts'
import { type FailedStatement, isDivisionByZero, mapPostgresError, tableOf } from './postgres-errors.ts'
import { indexName, primaryKeyName } from './postgres-sql-dialect.ts'
import { type CommitParts, comparedColumns, patchedColumns, type RowQueries } from './row-queries.ts'
import type { Executor } from './transaction-executor.ts'
import { fromWireCell, toInteger, toRow } from './wire-cells.ts'

/** Rows of one INSERT at most, so that encoding them blocks the event loop for a few milliseconds only. */
const MAX_ROWS = 10_000
/** Bytes and characters of one INSERT at most, roughly: far below the engine's limit of 1 GB a message. */
const MAX_BYTES = 32 * 1024 * 1024
/** Patches pipelined at once when they must run one after another. */
const PATCHES_AT_ONCE = 250

/** What the methods need besides an executor. */
export interface QueryBuilders {
  readonly queries: RowQueries
  readonly packedQueries: PackedQueries
  readonly statements: SqlStatements
}

export async function insertRows(
  builders: QueryBuilders,
  executor: Executor,
  shape: TableShape,
  rows: readonly NewRow[],
): Promise<void> {
  const slices = toSlices(shape, rows)
  const insert = async (executor: Executor, slice: Slice): Promise<void> => {
    await guarded(executor, builders.queries.insert(shape, slice.rows), { shape, written: slice.rows }, slice.start)
  }
  const [only] = slices
  if (only === undefined) return
  if (slices.length === 1) return insert(executor, only)
  await allOrNothing(executor, async (executor) => {
    for (const slice of slices) await insert(executor, slice)
  })
}

/**
 * Runs several statements as one. Inside a transaction they need no savepoint, because one that fails undoes the level that it runs on. A
 * savepoint that is released costs more than its statements: who waits for a row that it locked waits from then on for the whole
 * transaction, even if the level around is rolled back, so that a second attempt on that level can wait for the waiting one.
 */
function allOrNothing<T>(executor: Executor, work: (executor: Executor) => Promise<T>): Promise<T> {
  return executor.inTransaction ? work(executor) : executor.transaction(work)
}

/** A part of a list, and where in the list it begins. */
interface Slice {
  readonly start: number
  readonly rows: readonly NewRow[]
}

function toSlices(shape: TableShape, rows: readonly NewRow[]): readonly Slice[] {
  const long = shape.table.columns.filter(({ type }) => type === 'bytes' || type === 'text')
  const slices: Slice[] = []
  let start = 0
  let bytes = 0
  for (const [position, row] of rows.entries()) {
    let own = 0
    for (const { name } of long) own += lengthOf(row[name])
    if (position > start && (position - start === MAX_ROWS || bytes + own > MAX_BYTES)) {
      slices.push({ start, rows: rows.slice(start, position) })
      start = position
      bytes = 0
    }
    bytes += own
  }
  if (start < rows.length) slices.push({ start, rows: start === 0 ? rows : rows.slice(start) })
  return slices
}

function lengthOf(cell: Cell | undefined): number {
  return typeof cell === 'string' || cell instanceof Uint8Array ? cell.length : 0
}

export async function updateRows(
  builders: QueryBuilders,
  executor: Executor,
  shape: TableShape,
  patches: readonly Patch[],
): Promise<readonly boolean[]> {
  const groups = isOrderFree(shape, patches) ? toGroups(patches) : patches.map((_, position) => [position])
  const work = { shape, patches, groups }
  if (patches.length === 0) return []
  if (patches.length === 1) return updateGroups(builders, executor, work)
  if (groups.length === 1 && !executor.inTransaction) return updateGroups(builders, executor, work)
  return allOrNothing(executor, (executor) => updateLocked(builders, executor, work))
}

/** Patches, and the positions of those that fit one statement. */
interface PatchGroups {
  readonly shape: TableShape
  readonly patches: readonly Patch[]
  readonly groups: readonly (readonly number[])[]
}

/** Locks all rows first: two transactions that update the same rows in different orders would wait for each other. */
async function updateLocked(builders: QueryBuilders, executor: Executor, work: PatchGroups): Promise<readonly boolean[]> {
  const { shape, patches } = work
  const ids = patches.map(({ id }) => id)
  return afterBoth(lockRows(builders, executor, shape, ids), updateGroups(builders, executor, work))
}

/** Returns the result of the second of two that are sent at once. If rows cannot be locked, the error of their change only follows from that. */
async function afterBoth<T>(lock: Promise<void>, change: Promise<T>): Promise<T> {
  const [locked, changed] = await Promise.allSettled([lock, change])
  if (locked.status === 'rejected') throw locked.reason
  if (changed.status === 'rejected') throw changed.reason
  return changed.value
}

export async function lockRows(
  builders: QueryBuilders,
  executor: Executor,
  shape: TableShape,
  ids: readonly number[],
): Promise<void> {
  const possible = ids.filter(Number.isSafeInteger)
  if (possible.length > 0) await guarded(executor, builders.queries.lock(shape, possible), { shape })
}

async function updateGroups(
  builders: QueryBuilders,
  executor: Executor,
  { shape, patches, groups }: PatchGroups,
): Promise<readonly boolean[]> {
  const matched = patches.map(() => false)
  for (let start = 0; start < groups.length; start += PATCHES_AT_ONCE) {
    const together = groups.slice(start, start + PATCHES_AT_ONCE)
    const results = await Promise.allSettled(
      together.map((positions) => {
        const group = positions.map((position) => at(patches, position))
        const context = { shape, written: group.map(({ set }) => set) }
        return guarded(executor, builders.queries.update(shape, group), context, at(positions, 0))
      }),
    )
    for (const [index, result] of results.entries()) {
      if (result.status === 'rejected') throw result.reason
      const ids = new Set(result.value.map(([id]) => Number(id)))
      for (const position of at(together, index)) matched[position] = ids.has(at(patches, position).id)
    }
  }
  return matched
}

/**
 * False if one patch may take a unique value that another gives up: then they must run one after another.
 * PostgreSQL checks a unique index row by row, in an order of its own.
 */
function isOrderFree(shape: TableShape, patches: readonly Patch[]): boolean {
  if (patches.length < 2) return true
  const unique = new Set(shape.table.indexes.flatMap((index) => (index.unique ? index.columns : [])))
  if (unique.size === 0) return true
  return patches.every(({ set }) => Object.keys(set).every((column) => !unique.has(column)))
}

/** Positions of patches that fit one statement: the same columns, and no row twice, which would match only once. */
function toGroups(patches: readonly Patch[]): readonly (readonly number[])[] {
  const turns = new Map<number, number>()
  const groups = new Map<string, number[]>()
  let lastTurn = 0
  for (const [position, patch] of patches.entries()) {
    const turn = turns.get(patch.id) ?? 0
    turns.set(patch.id, turn + 1)
    lastTurn = Math.max(lastTurn, turn)
    const key = `${turn} ${JSON.stringify([patchedColumns(patch), comparedColumns(patch)])}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [position])
    else group.push(position)
  }
  const turnOf = (key: string): number => Number(key.slice(0, key.indexOf(' ')))
  return [...groups].sort(([left], [right]) => turnOf(left) - turnOf(right)).map(([, positions]) => positions)
}

export async function tryLockRow(builders: QueryBuilders, executor: Executor, shape: TableShape, id: number): Promise<boolean> {
  const [[locked] = []] = await guarded(executor, builders.queries.tryLock(shape, id), { shape })
  return Number(locked) === 1
}

export async function deleteRows(
  builders: QueryBuilders,
  executor: Executor,
  shape: TableShape,
  target: DeleteTarget,
): Promise<readonly number[]> {
  const query = 'ids' in target ? deleteIdsQuery(builders, shape, target.ids) : deleteWhereQuery(builders, shape, target.filter)
  if (query === undefined) return []
  const deleting = () => guarded(executor, query, { shape })
  // The server deletes in an order of its own.
  const mustLock = 'ids' in target && target.ids.length > 1 && executor.inTransaction
  const rows = await (mustLock ? afterBoth(lockRows(builders, executor, shape, target.ids), deleting()) : deleting())
  return rows.map(([id]) => Number(id)).sort((left, right) => left - right)
}

function deleteIdsQuery(builders: QueryBuilders, shape: TableShape, ids: readonly number[]): PreparedQuery | undefined {
  const possible = ids.filter(Number.isSafeInteger)
  return possible.length === 0 ? undefined : builders.queries.deleteIds(shape, possible)
}

function deleteWhereQuery(builders: QueryBuilders, shape: TableShape, filter: Filter): PreparedQuery {
  const { statement, parameters } = builders.statements.deleteWhere(shape, filter)
  return builders.queries.bind(statement, parameters)
}

export async function aggregateRows(
  builders: QueryBuilders,
  executor: Executor,
  shape: TableShape,
  asked: { readonly filter: Filter; readonly aggregates: readonly Aggregate[] },
): Promise<readonly Cell[]> {
  if (asked.aggregates.length === 0) return []
  const { statement, parameters } = builders.statements.aggregate(shape, asked.filter, asked.aggregates)
  const [row = []] = await guarded(executor, builders.queries.bind(statement, parameters), { shape })
  return asked.aggregates.map((aggregate, index) => toAggregate(shape, aggregate, row[index]))
}

function toAggregate(shape: TableShape, { kind, column }: Aggregate, raw: unknown): Cell {
  if (raw === null || raw === undefined) return null
  const type = column === undefined ? 'integer' : columnType(shape, column)
  switch (kind) {
    case 'count':
    case 'sum':
      return toInteger(raw)
    case 'min':
    case 'max':
      return fromWireCell(type, raw)
  }
}

/** Runs a query and maps its failure. `start` is the position in the request of the first written row. */
export async function guarded(
  executor: Executor,
  query: PreparedQuery,
  context: FailedStatement & { readonly shape: TableShape },
  start = 0,
): Promise<readonly RawRow[]> {
  try {
    return await executor.run(query)
  } catch (error) {
    throw mapPostgresError(error, { ...context, uniqueColumns: uniqueColumnsOf(context.shape), start })
  }
}

function uniqueColumnsOf({ name, table }: TableShape): ReadonlyMap<string, readonly string[]> {
  const unique = table.indexes.filter((index) => index.unique)
  return new Map([[primaryKeyName(name), ['id']], ...unique.map((index) => [indexName(table, index), index.columns] as const)])
}

/** `Storage.commit`: in one statement that commits by itself, where the changes fit into one. `storage` is the one of the executor. */
export async function commitChanges(
  { builders, shapes, storage }: Committing,
  executor: Executor,
  { changes, read }: CommitOptions & { readonly changes: Changes },
): Promise<Row | boolean | undefined> {
  const { commitAlone } = executor
  const parts = commitAlone === undefined ? undefined : partsOf(shapes, changes, read)
  if (commitAlone === undefined || parts === undefined) return commitInTransaction(storage, changes, { read })
  if (read === undefined && parts.update === undefined && parts.inserts.length === 0) return true
  if (read !== undefined && !Number.isSafeInteger(read.id)) return undefined
  try {
    const [raw] = await commitAlone(builders.queries.commit(parts))
    if (parts.read === undefined) return true
    return raw === undefined ? undefined : toRow(parts.read.shape, raw)
  } catch (error) {
    if (isDivisionByZero(error)) return false
    throw mapCommitError(error, parts)
  }
}

/** The storage of the executor, and what its methods share. */
interface Committing {
  readonly builders: QueryBuilders
  readonly shapes: TableShapes
  readonly storage: Pick<Storage, 'transaction'>
}

/** Returns the changes as parts of one statement; undefined if they are too many, or too long for one message. */
function partsOf(shapes: TableShapes, { updates, inserts }: Changes, read: CommitOptions['read']): CommitParts | undefined {
  const patched = updates.flatMap(({ table, patches }) => patches.map((patch) => ({ shape: shapes.of(table), patch })))
  const inserted = inserts.map(({ table, rows }) => ({ shape: shapes.of(table), rows })).filter(({ rows }) => rows.length > 0)
  if (patched.length > 1 || inserted.some(({ shape, rows }) => toSlices(shape, rows).length > 1)) return undefined
  return { update: patched[0], inserts: inserted, read: read && { shape: shapes.of(read.table), id: read.id } }
}

/** Names the table that the error is about, and the row if the server says which. */
function mapCommitError(error: unknown, { update, inserts }: CommitParts): unknown {
  const shapes = [...inserts.map(({ shape }) => shape), ...(update === undefined ? [] : [update.shape])]
  const name = tableOf(
    error,
    shapes.map((shape) => shape.name),
  )
  const inserted = inserts.find(({ shape }) => shape.name === name)
  const shape = inserted?.shape ?? (update?.shape.name === name ? update?.shape : undefined)
  if (shape === undefined) return mapPostgresError(error, {})
  const written = inserted?.rows ?? (update === undefined ? [] : [update.patch.set])
  return mapPostgresError(error, { shape, written, uniqueColumns: uniqueColumnsOf(shape) })
}
