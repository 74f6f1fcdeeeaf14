/** Reads the sealed indexes of a table: how many entries are in a range, which rows, what they come to, and in which order. */
import { fault } from '../errors.ts'
import { type KeyRange, MAX_KEY_BYTES } from '../index-runs/order-key.ts'
import { type Groups, groupsIn, type Segment } from '../index-runs/segment.ts'
import { totalOf, WholeSum } from '../index-runs/whole-sum.ts'
import { createPace, type Pace } from '../pace/pace.ts'
import type { Clock, Scheduler } from '../ports/time.ts'
import type { Direction } from './entry-stream.ts'
import { BLOCKS_AT_ONCE, beginningAgain, type HeadCache, type IndexRows, readBlocks, readHeads } from './index-rows.ts'
import { type Bounds, blocksIn, boundsIn, type IndexView, streamOf, totalInside, viewOf } from './index-view.ts'
import { createWalk, firstKeyOf, type KeyWalk, type Way } from './walk-keys.ts'

const UNBOUNDED: Bounds = { least: 0, most: Number.POSITIVE_INFINITY }

/** Tests the key in `bytes[start .. end)`. */
export type KeyTest = (bytes: Uint8Array, start: number, end: number) => boolean

/** The indexes of one table, for one query. Each call sees what was committed when it began, or when the estimate before it did. All throw `data_loss` for a damaged part, UNKNOWN_KEY as the keys say, and `aborted`. */
export interface IndexReader {
  /** Bounds of how many rows have a key in the ranges, which do not overlap, from heads alone. `most` is Infinity where an index has too many parts to be read. */
  estimate(index: number, ranges: readonly KeyRange[]): Promise<Bounds>
  /**
   * The rows that have a key in one of the ranges, rising. A key that is cut is of several values: their records decide. With tests, only those whose whole
   * key passes all, and those whose key is cut.
   */
  candidates(index: number, ranges: readonly KeyRange[], tests?: readonly KeyTest[]): Promise<Float64Array>
  /**
   * How many rows have a key in the ranges, which do not overlap, and, with `sum`, the sum of their values, which are of an INTEGER or DECIMAL column: without
   * its point.
   */
  totals(index: number, ranges: readonly KeyRange[], sum?: boolean): Promise<{ readonly count: number; readonly sum: bigint }>
  /** The first key in a direction that is in one of the ranges, which rise and do not overlap; undefined if none is. */
  firstKey(index: number, ranges: readonly KeyRange[], direction: Direction): Promise<Uint8Array | undefined>
  /** Begins a walk of the keys of ranges, which rise and do not overlap, in order with their rows. */
  walk(index: number, ranges: readonly KeyRange[], way: Way): KeyWalk
}

/** The dependencies of reading an index. */
export interface IndexReaderPorts extends IndexRows {
  readonly cache: HeadCache
  readonly clock: Clock
  readonly scheduler: Scheduler
}

/** Creates the reader of the indexes of a table. Columns of it with one object id have one index. */
export function createIndexReader(ports: IndexReaderPorts, table: { readonly objectId: number }): IndexReader {
  const fetch = (ids: readonly number[]): Promise<Segment[]> => readBlocks(ports, ids, ports.cache)

  async function findView(index: number): Promise<IndexView | undefined> {
    const { heads, areAll } = await readHeads(ports, ports.cache, { spaces: [table.objectId, index], pace: createPace(ports) })
    return areAll ? viewOf(index, heads) : undefined
  }

  /** What an estimate saw, until it is used: what is chosen by it sees the same, and reads no list of heads again. */
  const seen = new Map<number, IndexView | undefined>()

  async function view(index: number): Promise<IndexView> {
    const found = seen.get(index) ?? (await findView(index))
    // Where a block of it is gone, the next attempt must not see the same.
    seen.delete(index)
    if (found === undefined)
      throw fault('failed_precondition')`A sealed index has too many parts to be read. Run compact of the vault, in one process.`
    return found
  }

  /** Calls back with each block, in no order. */
  async function eachBlock(ids: readonly number[], pace: Pace, use: (segment: Segment) => void): Promise<void> {
    for (let from = 0; from < ids.length; from += BLOCKS_AT_ONCE) {
      for (const segment of await fetch(ids.slice(from, from + BLOCKS_AT_ONCE))) use(segment)
      await pace.worked()
    }
  }

  return {
    async estimate(index, ranges) {
      const found = seen.has(index) ? seen.get(index) : await beginningAgain(() => findView(index))
      seen.set(index, found)
      return found === undefined ? UNBOUNDED : boundsIn(found, ranges)
    },

    candidates(index, ranges, tests = []) {
      return beginningAgain(async () => {
        const { segments, runs } = await view(index)
        const pace = createPace(ports)
        const found: number[] = []
        const gone: number[] = []
        const collect = (segment: Segment): void => {
          for (const range of ranges) collectRows(segment, { ...groupsIn(segment, range), tests }, found, gone)
        }
        for (const segment of segments) collect(segment)
        await eachBlock(blocksIn(runs, ranges), pace, collect)
        return rowsLeft(Float64Array.from(found).sort(), Float64Array.from(gone).sort())
      })
    },

    totals(index, ranges, isSummed = false) {
      return beginningAgain(async () => {
        const found = await view(index)
        const sum = isSummed ? new WholeSum() : undefined
        const pace = createPace(ports)
        let count = 0
        // What one statement saw is asked for all of them: a row that goes from one to another is in one.
        for (const range of ranges) {
          const { inside, edges } = totalInside(found.runs, range, sum)
          count += inside
          const add = (segment: Segment): void => {
            count += totalOf(segment, groupsIn(segment, range), sum)
          }
          for (const segment of found.segments) add(segment)
          await eachBlock(edges, pace, add)
        }
        return { count, sum: sum?.total ?? 0n }
      })
    },

    firstKey(index, ranges, direction) {
      return beginningAgain(async () => {
        const found = await view(index)
        for (const range of direction === 'up' ? ranges : ranges.toReversed()) {
          const key = await firstKeyOf(streamOf(found, range, direction), fetch)
          if (key !== undefined) return key
        }
        return undefined
      })
    },

    walk: (index, ranges, way) => createWalk({ ...way, view: () => view(index), fetch, pace: createPace(ports), ranges }),
  }
}

/** Adds the rows of groups: those whose values came to one list and those whose went to the other, as often as they did. */
function collectRows(
  segment: Segment,
  { from, to, tests }: Groups & { readonly tests: readonly KeyTest[] },
  came: number[],
  went: number[],
): void {
  if (tests.length > 0) {
    for (let group = from; group < to; group++) {
      if (passes(segment, group, tests)) collectRows(segment, { from: group, to: group + 1, tests: [] }, came, went)
    }
    return
  }
  const { firsts, rows, weights } = segment
  for (let i = firsts[from] ?? 0; i < (firsts[to] ?? 0); i++) {
    const weight = weights[i] ?? 0
    for (let k = 0; k < weight; k++) came.push(rows[i] ?? 0)
    for (let k = 0; k > weight; k--) went.push(rows[i] ?? 0)
  }
}

function passes({ keys, starts }: Segment, group: number, tests: readonly KeyTest[]): boolean {
  const start = starts[group] ?? 0
  const end = starts[group + 1] ?? 0
  return end - start >= MAX_KEY_BYTES || tests.every((test) => test(keys, start, end))
}

/** Returns the rows that came more often than they went, each once. Both lists are sorted. */
function rowsLeft(came: Float64Array, went: Float64Array): Float64Array {
  let count = 0
  let gone = 0
  for (let i = 0; i < came.length; ) {
    const row = came[i] ?? 0
    let weight = 0
    for (; came[i] === row; i++) weight++
    while ((went[gone] ?? row) < row) gone++
    for (; went[gone] === row; gone++) weight--
    if (weight > 0) came[count++] = row
  }
  return came.subarray(0, count)
}
