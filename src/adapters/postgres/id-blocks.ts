/** Row ids in blocks from a sequence of each table: most reservations need no round trip. */
import { isVaultError, VaultError } from '../../core/errors.ts'
import { MAX_ROW_ID } from '../../core/ports/storage.ts'
import { idsExhaustedError } from '../errors/storage-errors.ts'
import type { RowQueries } from './row-queries.ts'
import { sequenceName } from './stable-names.ts'
import type { Executor } from './transaction-executor.ts'

/** Ids of one `nextval`: the increment of every sequence. Changing it for an existing sequence would give ids out twice. */
export const BLOCK_SIZE = 1000
/** Blocks one query fetches at most. */
const MAX_BLOCKS = 10_000
/** PostgreSQL: a sequence has reached its end. */
const SEQUENCE_ENDED = '2200H'

/** Ids from `from` to `to`, both included. */
interface Range {
  from: number
  readonly to: number
}

interface Kept {
  /** Ranges of ids that are not given out yet, rising. */
  readonly ranges: Range[]
  /** Ends with the fetch that runs on the pool now. */
  fetching: Promise<unknown> | undefined
}

export interface IdBlocks {
  reserve(executor: Executor, table: string, count: number): Promise<readonly number[]>
  /** Drops the ids kept for a table whose sequence was created again. */
  forget(table: string): void
  /**
   * Returns what a write returns. If it fails because a row has one of its ids already, drops the ids kept for that table: a server that
   * crashed gives the blocks out again that no commit had reached the disk with, and then two handles keep the same ids.
   */
  forgetIfTaken<T>(write: Promise<T>): Promise<T>
}

export function createIdBlocks(queries: RowQueries): IdBlocks {
  const tables = new Map<string, Kept>()

  function keptOf(table: string): Kept {
    const found = tables.get(table)
    if (found !== undefined) return found
    const made: Kept = { ranges: [], fetching: undefined }
    tables.set(table, made)
    return made
  }

  async function fetch(executor: Executor, table: string, kept: Kept, missing: number): Promise<void> {
    const blocks = Math.min(MAX_BLOCKS, Math.ceil(missing / BLOCK_SIZE))
    const rows = await executor.run(queries.nextBlocks(sequenceName(table), blocks)).catch((error: unknown) => {
      throw isSequenceEnd(error) ? idsExhaustedError(table) : error
    })
    for (const [first] of rows) {
      const from = Number(first)
      kept.ranges.push({ from, to: Math.min(from + BLOCK_SIZE - 1, MAX_ROW_ID) })
    }
    kept.ranges.sort((left, right) => left.from - right.from)
  }

  return {
    forget: (table) => void tables.delete(table),
    async forgetIfTaken(write) {
      try {
        return await write
      } catch (error) {
        const [detail] = isVaultError(error, 'conflict') ? error.details : []
        const isOfIds = detail?.columns?.length === 1 && detail.columns[0] === 'id'
        if (isOfIds && detail.table !== undefined) tables.delete(detail.table)
        throw error
      }
    },
    async reserve(executor, table, count) {
      const kept = keptOf(table)
      for (;;) {
        const missing = count - countOf(kept.ranges)
        if (missing <= 0) return take(kept.ranges, count)
        if (executor.inTransaction) {
          // Waiting here for a fetch on the pool could deadlock: the transactions may hold all its connections.
          await fetch(executor, table, kept, missing)
        } else if (kept.fetching !== undefined) {
          await kept.fetching
        } else {
          const mine = fetch(executor, table, kept, missing)
          kept.fetching = mine.catch(() => {})
          try {
            await mine
          } finally {
            kept.fetching = undefined
          }
        }
      }
    },
  }
}

function isSequenceEnd(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === SEQUENCE_ENDED
}

function countOf(ranges: readonly Range[]): number {
  let count = 0
  for (const { from, to } of ranges) count += to - from + 1
  return count
}

/** Takes the lowest ids, in rising order. */
function take(ranges: Range[], count: number): readonly number[] {
  const ids: number[] = []
  while (ids.length < count) {
    const [range] = ranges
    if (range === undefined)
      throw new VaultError('internal', 'More ids were taken than are kept. This is a defect; please report it.')
    while (range.from <= range.to && ids.length < count) ids.push(range.from++)
    if (range.from > range.to) ranges.shift()
  }
  return ids
}
