/** Row ids from sequences that give a block at a time: most reservations need no round trip. */
import { VaultError } from '../../core/errors.ts'
import { HIGHEST_ROW_ID } from '../../core/ports/storage.ts'
import { idsExhaustedError } from '../sql/sql-errors.ts'
import type { Lane } from './lanes.ts'
import type { RowOrders } from './row-orders.ts'
import { sequenceName } from './stable-names.ts'

/** Ids one `nextval` gives: the increment of every sequence. Changing it for a sequence that stands would give ids twice. */
export const BLOCK = 1000
/** Blocks asked for in one order. */
const MOST_BLOCKS = 10_000
/** PostgreSQL: a sequence has reached its end. */
const SEQUENCE_ENDED = '2200H'

/** Ids from `from` to `to`, both included. */
interface Range {
  from: number
  readonly to: number
}

interface Kept {
  /** Ranges nobody has been given yet, rising. */
  readonly ranges: Range[]
  /** The end of the fetch now under way on the pool. */
  fetching: Promise<unknown> | undefined
}

export interface IdBlocks {
  reserve(lane: Lane, table: string, count: number): Promise<readonly number[]>
  /** Lets go of what is kept: the sequence was made anew. */
  forget(table: string): void
}

export function createIdBlocks(orders: RowOrders): IdBlocks {
  const tables = new Map<string, Kept>()

  function keptOf(table: string): Kept {
    const found = tables.get(table)
    if (found !== undefined) return found
    const made: Kept = { ranges: [], fetching: undefined }
    tables.set(table, made)
    return made
  }

  async function fetch(lane: Lane, table: string, kept: Kept, missing: number): Promise<void> {
    const blocks = Math.min(MOST_BLOCKS, Math.ceil(missing / BLOCK))
    const rows = await lane.run(orders.nextBlocks(sequenceName(table), blocks)).catch((error: unknown) => {
      throw isSequenceEnd(error) ? idsExhaustedError(table) : error
    })
    for (const [first] of rows) {
      const from = Number(first)
      kept.ranges.push({ from, to: Math.min(from + BLOCK - 1, HIGHEST_ROW_ID) })
    }
    kept.ranges.sort((left, right) => left.from - right.from)
  }

  return {
    forget: (table) => void tables.delete(table),
    async reserve(lane, table, count) {
      const kept = keptOf(table)
      for (;;) {
        const missing = count - countOf(kept.ranges)
        if (missing <= 0) return take(kept.ranges, count)
        if (lane.inside) {
          // Waiting here for a fetch on the pool could never end: the transactions may hold all its connections.
          await fetch(lane, table, kept, missing)
        } else if (kept.fetching !== undefined) {
          await kept.fetching
        } else {
          const mine = fetch(lane, table, kept, missing)
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

/** Takes the lowest ids, so that each answer rises. */
function take(ranges: Range[], count: number): readonly number[] {
  const ids: number[] = []
  while (ids.length < count) {
    const [range] = ranges
    if (range === undefined) throw new VaultError('internal', 'More ids were taken than are kept.')
    while (range.from <= range.to && ids.length < count) ids.push(range.from++)
    if (range.from > range.to) ranges.shift()
  }
  return ids
}
