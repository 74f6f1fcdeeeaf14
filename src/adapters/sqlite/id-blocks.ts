/** Row ids in blocks from a counter table: no id is given out twice, by one process or by several. */
import { sql } from 'kysely'
import { MAX_ROW_ID } from '../../core/ports/storage.ts'
import { append, at } from '../../core/util/lists.ts'
import { damagedCounterError, idsExhaustedError } from '../errors/storage-errors.ts'
import type { SqlStatement } from '../sql/sql-statements.ts'
import type { TableShape } from '../sql/table-shapes.ts'
import { type LatestIds, latestId } from './latest-ids.ts'
import { ID_COUNTERS } from './prepare-tables.ts'
import { sqliteSqlDialect } from './sqlite-sql-dialect.ts'
import { change, type RawRow, rows, type Steps } from './table-work.ts'

/** Ids a process takes from the counter at once. What is left of a block when the process ends is a gap. */
export const BLOCK_SIZE = 1000

/**
 * Ids that are taken instead after another handle took some: in a table that is ordered, what is left of a block is given up as soon as
 * another handle commits.
 */
const CONTENDED_BLOCK_SIZE = 32

/** Batches of the requested size a new block covers: taking a block costs a commit of its own. */
const BATCHES_AHEAD = 16

/** Ids from `next` up to, but without, `end`. */
export interface IdBlock {
  readonly next: number
  readonly end: number
}

/**
 * Blocks by table. A block belongs to the savepoint, transaction or process whose counter change it came from: rolled
 * back with it, or moved to its owner once it is released or committed. Only a committed block reaches the process, so two processes never own one.
 */
export type BlocksByTable = Map<string, IdBlock>

/** Blocks from the process down to the innermost savepoint. */
export type BlockStack = readonly BlocksByTable[]

export interface IdBlocks {
  /** Blocks whose counter change is committed. */
  readonly committed: BlocksByTable
  /** Ids from committed blocks alone, or undefined if they do not suffice. Changes nothing then. */
  available(table: string, count: number): number[] | undefined
  /** Ids from the blocks of the stack and then from the counter. The rest of a new block goes to the last member of the stack. */
  reserve(shape: TableShape, request: IdRequest, stack: BlockStack): Steps<number[]>
}

/** Ids that are wanted, in a transaction. */
export interface IdRequest {
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
      const block = committed.get(table)
      return block !== undefined && block.end - block.next >= count ? remember(table, take(table, count, [committed])) : undefined
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
        const last = at(stack, stack.length - 1)
        last.set(shape.name, block)
        append(ids, take(shape.name, missing, [last]))
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
  for (const blocks of stack) {
    const block = blocks.get(table)
    if (block === undefined || block.next > last) continue
    hasDropped = true
    if (block.end > last + 1) blocks.set(table, { next: last + 1, end: block.end })
    else blocks.delete(table)
  }
  return hasDropped
}

/** Takes up to `count` ids out of the blocks of a stack. Returns them in rising order. */
function take(table: string, count: number, stack: BlockStack): number[] {
  const ids: number[] = []
  for (const blocks of stack) {
    const block = blocks.get(table)
    if (block === undefined) continue
    const end = Math.min(block.end, block.next + count - ids.length)
    for (let id = block.next; id < end; id++) ids.push(id)
    if (end === block.end) blocks.delete(table)
    else blocks.set(table, { next: end, end: block.end })
  }
  return ids.sort((left, right) => left - right)
}

/** Moves the blocks of a released savepoint or a committed transaction to its owner. Where both have one, the newer stays. */
export function returnBlocks(from: BlocksByTable, to: BlocksByTable): void {
  for (const [table, block] of from) to.set(table, block)
  from.clear()
}

const ADVANCE: SqlStatement = {
  text: `update "${ID_COUNTERS}" set "next" = max("next", ?) + ? where "name" = ? and typeof("next") = 'integer' and max("next", ?) + ? <= ${MAX_ROW_ID + 1} returning "next"`,
}

const KIND: SqlStatement = { text: `select typeof("next") as "kind" from "${ID_COUNTERS}" where "name" = ?` }

/** Moves the counter; near the end of all ids it takes no more than is needed. */
function* advance(
  shape: TableShape,
  wanted: { readonly floor: number; readonly missing: number; readonly size: number },
): Steps<IdBlock> {
  for (const size of [wanted.size, wanted.size, wanted.missing]) {
    const { floor } = wanted
    const [row] = yield* rows(ADVANCE, [floor, size, shape.name, floor, size], ['next'])
    if (row !== undefined) return toBlock(row, size)
    yield* change(beginStatement(shape), [shape.name])
  }
  const [counter] = yield* rows(KIND, [shape.name], ['kind'])
  throw counter?.[0] === 'integer' ? idsExhaustedError(shape.name) : damagedCounterError(shape.name, ID_COUNTERS)
}

function toBlock(row: RawRow, size: number): IdBlock {
  const end = Number(row[0])
  return { next: end - size, end }
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
