/** Row ids in blocks from a sequence of each table: most reservations need no round trip. */
import { isVaultError } from '../../core/errors.ts'
import { MAX_ROW_ID } from '../../core/ports/storage.ts'
import { idsExhaustedError } from '../errors/storage-errors.ts'
import { addIds, countIds, dropIdsUpTo, type IdRanges, takeIds } from '../sql/id-ranges.ts'
import type { RawRow } from './driver-connection.ts'
import { sqlState } from './postgres-errors.ts'
import { sequenceName } from './postgres-sql-dialect.ts'
import type { RowQueries } from './row-queries.ts'
import type { Executor } from './transaction-executor.ts'

/** Ids of one `nextval`: the increment of every sequence. Changing it for an existing sequence would give ids out twice. */
export const BLOCK_SIZE = 1000
/** Blocks one query fetches at most. */
const MAX_BLOCKS = 10_000
/** PostgreSQL: a sequence has reached its end. */
const SEQUENCE_ENDED = '2200H'
/** The server has no functions of the log, or does not let the role call them, as some managed ones do. */
const WITHOUT_LOG_FUNCTIONS: readonly unknown[] = ['0A000', '42501', '42883']

/** What a transaction did. */
interface Inside {
  readonly fetched: Map<string, IdRanges>
  /** True once it has written to the log of the server, also in a savepoint that was rolled back. */
  hasInserted: boolean
}

interface Kept {
  readonly ranges: IdRanges
  /** Ends with the fetch that runs on the pool now. */
  fetching: Promise<unknown> | undefined
}

/**
 * Ids that are kept must be taken for good: a server that crashes gives a block out again if what its log says of the sequence had not reached the
 * disk. A fetch on the pool sees to that. Ids that were fetched inside a transaction stay with it until it commits. The commit of one that inserted rows writes the log.
 */
export interface IdBlocks {
  reserve(executor: Executor, table: string, count: number): Promise<readonly number[]>
  /** Keeps what is left of the ids that a transaction fetched, if it inserted rows. Called when it has committed. */
  keepRest(transaction: object): void
  /** Called when rows were inserted. */
  noteInserted(executor: Executor): void
  /** Drops the ids below `next` that are kept for a table. */
  raise(table: string, next: number): void
  /** Drops the ids kept for a table whose sequence was created again, and those of the transaction that created it. */
  forget(executor: Executor, table: string): void
  /**
   * Returns what a write returns. If it fails because a row has one of its ids already, drops the ids kept for that table: a sequence that was
   * set back, or restored from a backup, gives ids out again, and then two handles keep the same ones.
   */
  forgetIfTaken<T>(executor: Executor, write: Promise<T>): Promise<T>
}

export function createIdBlocks(queries: RowQueries): IdBlocks {
  const tables = new Map<string, Kept>()
  const insides = new WeakMap<object, Inside>()
  let hasLogFunctions = true

  function keptOf(table: string): Kept {
    const found = tables.get(table)
    if (found !== undefined) return found
    const made: Kept = { ranges: [], fetching: undefined }
    tables.set(table, made)
    return made
  }

  function insideOf(transaction: object): Inside {
    const found = insides.get(transaction)
    if (found !== undefined) return found
    const made: Inside = { fetched: new Map(), hasInserted: false }
    insides.set(transaction, made)
    return made
  }

  function fetchedOf(transaction: object, table: string): IdRanges {
    const { fetched } = insideOf(transaction)
    const ranges = fetched.get(table) ?? []
    fetched.set(table, ranges)
    return ranges
  }

  function forget({ root }: Executor, table: string): void {
    tables.delete(table)
    if (root !== undefined) insides.get(root)?.fetched.delete(table)
  }

  /** Waits for the disk where other writers have left it behind, so that no crash gives these blocks out again. */
  async function nextDurable(executor: Executor, sequence: string, blocks: number): Promise<readonly RawRow[]> {
    if (hasLogFunctions) {
      try {
        return await executor.run(queries.nextDurableBlocks(sequence, blocks))
      } catch (error) {
        if (!WITHOUT_LOG_FUNCTIONS.includes(sqlState(error))) throw error
      }
    }
    const rows = await executor.run(queries.nextBlocks(sequence, blocks))
    hasLogFunctions = false
    return rows
  }

  async function fetch(executor: Executor, table: string, ranges: IdRanges, missing: number): Promise<void> {
    const blocks = Math.min(MAX_BLOCKS, Math.ceil(missing / BLOCK_SIZE))
    const sequence = sequenceName(table)
    const fetching = executor.inTransaction
      ? executor.run(queries.nextBlocks(sequence, blocks))
      : nextDurable(executor, sequence, blocks)
    const rows = await fetching.catch((error: unknown) => {
      throw sqlState(error) === SEQUENCE_ENDED ? idsExhaustedError(table) : error
    })
    const first = rows.map(([id]) => Number(id))
    addIds(
      ranges,
      first.map((from) => ({ from, to: Math.min(from + BLOCK_SIZE - 1, MAX_ROW_ID) })),
    )
  }

  /** Never waits for a fetch on the pool: the transactions may hold all its connections. */
  async function reserveInside(
    executor: Executor,
    transaction: object,
    table: string,
    count: number,
  ): Promise<readonly number[]> {
    const fetched = fetchedOf(transaction, table)
    const { ranges } = keptOf(table)
    if (countIds(fetched) === 0 && countIds(ranges) >= count) return takeIds(ranges, count)
    for (;;) {
      const missing = count - countIds(fetched)
      if (missing <= 0) return takeIds(fetched, count)
      await fetch(executor, table, fetched, missing)
    }
  }

  return {
    forget,
    raise: (table, next) => void dropIdsUpTo(keptOf(table).ranges, next - 1),
    noteInserted({ root }) {
      if (root !== undefined) insideOf(root).hasInserted = true
    },
    keepRest(transaction) {
      const inside = insides.get(transaction)
      if (inside?.hasInserted !== true) return
      for (const [table, rest] of inside.fetched) addIds(keptOf(table).ranges, rest)
    },
    async forgetIfTaken(executor, write) {
      try {
        return await write
      } catch (error) {
        const [detail] = isVaultError(error, 'conflict') ? error.details : []
        const isOfIds = detail?.columns?.length === 1 && detail.columns[0] === 'id'
        if (isOfIds && detail.table !== undefined) forget(executor, detail.table)
        throw error
      }
    },
    async reserve(executor, table, count) {
      if (executor.root !== undefined) return reserveInside(executor, executor.root, table, count)
      const kept = keptOf(table)
      for (;;) {
        const missing = count - countIds(kept.ranges)
        if (missing <= 0) return takeIds(kept.ranges, count)
        if (kept.fetching !== undefined) {
          await kept.fetching
          continue
        }
        const mine = fetch(executor, table, kept.ranges, missing)
        kept.fetching = mine.catch(() => {})
        try {
          await mine
        } finally {
          kept.fetching = undefined
        }
      }
    },
  }
}
