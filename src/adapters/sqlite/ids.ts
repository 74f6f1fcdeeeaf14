/**
 * Row ids in blocks from a counter table: none is given out twice, by one process or by several, and in a table that asks for it, a row is inserted
 * only above every row that was committed before. Source: docs/decisions/0048.
 */
import { sql } from 'kysely'
import { MAX_ROW_ID, type NewRow } from '../../core/ports/storage.ts'
import { append, at } from '../../core/util/lists.ts'
import { damagedCounterError, idsExhaustedError, outOfOrderError } from '../errors/storage-errors.ts'
import { addIds, countIds, dropIdsUpTo, type IdRange, type IdRanges, takeIds } from '../sql/id-ranges.ts'
import type { SqlStatement } from '../sql/sql-statements.ts'
import type { TableShape } from '../sql/table-shapes.ts'
import { change, rows, type Steps } from './connection.ts'
import type { RawRow } from './drivers.ts'
import { ID_COUNTERS } from './prepare-tables.ts'
import { sqliteSqlDialect } from './sqlite-sql-dialect.ts'

/** Ids a process takes from the counter at once. What is left of a block when the process ends is a gap. */
export const BLOCK_SIZE = 1000

/**
 * Ids that are taken instead after another handle took some: in a table that is ordered, what is left of a block is given up as soon as
 * another handle commits.
 */
const CONTENDED_BLOCK_SIZE = 32

/** Batches of the requested size a new block covers: taking a block costs a commit of its own. */
const BATCHES_AHEAD = 16

/**
 * What is left of blocks, by table. A block belongs to the savepoint, transaction or process whose counter change it came from: rolled
 * back with it, or moved to its owner once it is released or committed. Only a committed block reaches the process, so two processes never own one.
 */
export type BlocksByTable = Map<string, IdRanges>

/** Blocks from the process down to the innermost savepoint. */
export type BlockStack = readonly BlocksByTable[]

export interface IdBlocks {
  /** Blocks whose counter change is committed. */
  readonly committed: BlocksByTable
  /** Ids from committed blocks alone, or undefined if they do not suffice. Changes nothing then. */
  available(table: string, count: number): number[] | undefined
  /** Ids from the blocks of the stack and then from the counter. The rest of a new block goes to the last member of the stack. */
  reserve(shape: TableShape, request: IdRequest, stack: BlockStack): Steps<number[]>
  /** Moves the counter to `next` unless it is above, and drops the ids below it that this process has left. */
  raise(shape: TableShape, next: number): Steps<void>
}

/** Ids that are wanted, in a transaction. */
interface IdRequest {
  readonly count: number
  /** Ids to take from the counter at once; 0 for those only that are needed. */
  readonly blockSize: number
  /** What the transaction knows of the ids that are committed. */
  readonly latest: LatestIds
}

export function createIdBlocks(): IdBlocks {
  const committed: BlocksByTable = new Map()
  // A rolled-back transaction undoes its counter change, but the ids it gave out may still be in use.
  const highest = new Map<string, number>()

  function remember(table: string, ids: number[]): number[] {
    const last = ids.at(-1) ?? 0
    if (last > (highest.get(table) ?? 0)) highest.set(table, last)
    return ids
  }

  return {
    committed,
    available(table, count) {
      const ranges = committed.get(table)
      return ranges !== undefined && countIds(ranges) >= count ? remember(table, takeIds(ranges, count)) : undefined
    },
    *raise(shape, next) {
      yield* change(beginStatement(shape), [shape.name])
      yield* change(RAISE, [next, shape.name])
      dropIdsUpTo(committed.get(shape.name) ?? [], next - 1)
    },
    *reserve(shape, { count, blockSize, latest }, stack) {
      const isContended = shape.table.isOrdered === true && dropUpTo(shape.name, yield* latestId(shape, latest), stack)
      const ids = take(shape.name, count, stack)
      const missing = count - ids.length
      if (missing > 0) {
        const floor = (highest.get(shape.name) ?? 0) + 1
        const block = yield* advance(shape, {
          floor,
          missing,
          size: blockSizeFor(missing, blockSize, isContended),
        })
        const own = at(stack, stack.length - 1)
        addIds(rangesOf(own, shape.name), [block])
        append(ids, take(shape.name, missing, [own]))
      }
      return remember(shape.name, ids)
    },
  }
}

function blockSizeFor(missing: number, blockSize: number, isContended: boolean): number {
  if (blockSize === 0) return missing
  return isContended ? Math.max(missing, CONTENDED_BLOCK_SIZE) : Math.max(missing * BATCHES_AHEAD, blockSize)
}

/** Drops the ids up to this one out of the blocks of a stack. Returns whether there were any. */
function dropUpTo(table: string, last: number, stack: BlockStack): boolean {
  let hasDropped = false
  for (const blocks of stack) if (dropIdsUpTo(blocks.get(table) ?? [], last)) hasDropped = true
  return hasDropped
}

/** Takes up to `count` ids out of the blocks of a stack. Returns them in rising order. */
function take(table: string, count: number, stack: BlockStack): number[] {
  const ids: number[] = []
  for (const blocks of stack) append(ids, takeIds(blocks.get(table) ?? [], count - ids.length))
  return ids.sort((left, right) => left - right)
}

function rangesOf(blocks: BlocksByTable, table: string): IdRanges {
  const ranges = blocks.get(table) ?? []
  blocks.set(table, ranges)
  return ranges
}

/** Moves the blocks of a released savepoint or a committed transaction to its owner. */
export function returnBlocks(from: BlocksByTable, to: BlocksByTable): void {
  for (const [table, ranges] of from) addIds(rangesOf(to, table), ranges)
  from.clear()
}

const ADVANCE: SqlStatement = {
  text: `update "${ID_COUNTERS}" set "next" = max("next", ?) + ? where "name" = ? and typeof("next") = 'integer' and max("next", ?) + ? <= ${MAX_ROW_ID + 1} returning "next"`,
}

const RAISE: SqlStatement = {
  text: `update "${ID_COUNTERS}" set "next" = max("next", ?) where "name" = ? and typeof("next") = 'integer'`,
}

const KIND: SqlStatement = { text: `select typeof("next") as "kind" from "${ID_COUNTERS}" where "name" = ?` }

/** Moves the counter; near the end of all ids it takes no more than is needed. */
function* advance(
  shape: TableShape,
  wanted: { readonly floor: number; readonly missing: number; readonly size: number },
): Steps<IdRange> {
  for (const size of [wanted.size, wanted.size, wanted.missing]) {
    const { floor } = wanted
    const [row] = yield* rows(ADVANCE, [floor, size, shape.name, floor, size], ['next'])
    if (row !== undefined) return toBlock(row, size)
    yield* change(beginStatement(shape), [shape.name])
  }
  const [counter] = yield* rows(KIND, [shape.name], ['kind'])
  throw counter?.[0] === 'integer' ? idsExhaustedError(shape.name) : damagedCounterError(shape.name, ID_COUNTERS)
}

function toBlock(row: RawRow, size: number): IdRange {
  const next = Number(row[0])
  return { from: next - size, to: next - 1 }
}

const beginStatements = new Map<string, SqlStatement>()

/** Begins a counter beyond every id the table already has. Does nothing if the counter exists. */
function beginStatement(shape: TableShape): SqlStatement {
  const found = beginStatements.get(shape.name)
  if (found !== undefined) return found
  const text = sql`insert into ${sql.id(ID_COUNTERS)} ("id", "version", "name", "next")
    select (select coalesce(max("id"), 0) + 1 from ${sql.id(ID_COUNTERS)}), 1, column1, (select coalesce(max("id"), 0) + 1 from ${sql.id(shape.name)})
    from (values (${sql.val(0)})) where true on conflict ("name") do nothing`
  const statement = { text: text.compile(sqliteSqlDialect.compiler).sql }
  beginStatements.set(shape.name, statement)
  return statement
}

/** The highest committed id by table, as one transaction found it. While it is open no other writer commits, so it looks once. */
export type LatestIds = Map<string, number>

/** The highest id of the rows committed before this transaction; 0 without any. */
function* latestId(shape: TableShape, known: LatestIds): Steps<number> {
  const found = known.get(shape.name)
  if (found !== undefined) return found
  const [row] = yield* rows(latestStatement(shape), [shape.name], ['latest'])
  const latest = Number(row?.[0] ?? 0)
  known.set(shape.name, latest)
  return latest
}

/** Throws `conflict` on `id` if one of the rows is not above all that were committed before. Nothing is stored then. */
export function* assertInOrder(shape: TableShape, newRows: readonly NewRow[], known: LatestIds): Steps<void> {
  const lowest = newRows.reduce((least, { id }) => Math.min(least, id), Number.POSITIVE_INFINITY)
  if (!known.has(shape.name)) {
    // Looking at all ids is quicker, and nearly always enough.
    const [row] = yield* rows(highestStatement(shape), [], ['highest'])
    const highest = Number(row?.[0] ?? Number.NEGATIVE_INFINITY)
    if (highest < lowest) {
      known.set(shape.name, highest)
      return
    }
  }
  if (lowest <= (yield* latestId(shape, known))) throw outOfOrderError(shape.name)
}

const highestStatements = new WeakMap<TableShape, SqlStatement>()

function highestStatement(shape: TableShape): SqlStatement {
  const found = highestStatements.get(shape)
  if (found !== undefined) return found
  const text = sql`select max("id") as "highest" from ${sql.id(shape.name)}`
  const statement = { text: text.compile(sqliteSqlDialect.compiler).sql }
  highestStatements.set(shape, statement)
  return statement
}

const latestStatements = new WeakMap<TableShape, SqlStatement>()

/** Ids that were never reserved do not count: one that was changed in the database would keep every later row out. */
function latestStatement(shape: TableShape): SqlStatement {
  const found = latestStatements.get(shape)
  if (found !== undefined) return found
  const text = sql`select max("id") as "latest" from ${sql.id(shape.name)}
    where "id" < (select "next" from ${sql.id(ID_COUNTERS)} where "name" = ${sql.val(0)})`
  const statement = { text: text.compile(sqliteSqlDialect.compiler).sql }
  latestStatements.set(shape, statement)
  return statement
}
