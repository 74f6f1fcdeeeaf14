/** Reads the sealed indexes of a table: how many entries are in a range, which rows, what they come to, and in which order. */
import { fault } from '../errors.ts'
import { compareKeys, type KeyRange, keyAfter, MAX_KEY_BYTES } from '../index-runs/order-key.ts'
import { type BlockRun, type BlockSpan, spanOf } from '../index-runs/run-head.ts'
import { type Groups, groupsIn, type Segment, segmentIn } from '../index-runs/segment.ts'
import { totalOf, WholeSum } from '../index-runs/whole-sum.ts'
import { createPace, type Pace } from '../pace/pace.ts'
import type { Clock, Scheduler } from '../ports/time.ts'
import { required } from '../util/lists.ts'
import { type Direction, EntryStream } from './entry-stream.ts'
import {
  BEGIN_AGAIN,
  beginningAgain,
  type HeadCache,
  type IndexRows,
  readBlocks,
  readHeads,
  type StoredHead,
} from './index-rows.ts'

/** Rows with one key. */
export interface KeyRows {
  readonly key: Uint8Array
  /** Rising on the way up, falling on the way down. */
  readonly rows: readonly number[]
}

/** Bounds of a number of rows. */
export interface Bounds {
  readonly least: number
  readonly most: number
}

const UNBOUNDED: Bounds = { least: 0, most: Number.POSITIVE_INFINITY }

/** Tests the key in `bytes[start .. end)`. */
export type KeyTest = (bytes: Uint8Array, start: number, end: number) => boolean

/** The indexes of one table, for one query. Each call sees what was committed when it began, or when the estimate before it did. All throw `data_loss` for a damaged part, UNKNOWN_KEY as the keys say, and `aborted`. */
export interface IndexReader {
  /** Bounds of how many rows have a key in the ranges, which do not overlap, from heads alone. `most` is Infinity where an index has too many parts to be read. */
  estimate(index: number, ranges: readonly KeyRange[]): Promise<Bounds>
  /** The same of several lists of ranges, which can have keys in common. */
  estimates(index: number, lists: readonly (readonly KeyRange[])[]): Promise<readonly Bounds[]>
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
  /**
   * Keys of ranges, which rise and do not overlap, in order with their rows; blocks are opened as they are come to. A key with many rows comes several times.
   * After a merge by another process it goes on in what is there then, so that a row whose value was changed meanwhile can come again under another key, or
   * not at all: `onMoved` is called before the next group.
   */
  walk(
    index: number,
    ranges: readonly KeyRange[],
    direction: Direction,
    onMoved?: () => void,
  ): AsyncGenerator<KeyRows, void, void>
}

/** The dependencies of reading an index. */
export interface IndexReaderPorts extends IndexRows {
  readonly cache: HeadCache
  readonly clock: Clock
  readonly scheduler: Scheduler
}

/** Blocks that are read at once, at most. */
const BLOCKS_AT_ONCE = 16
/** Rows of a key that come together, at most. */
const ROWS_AT_ONCE = 1024

/** What one statement saw of an index. */
interface View {
  readonly segments: readonly Segment[]
  readonly runs: readonly BlockRun[]
}

/** Creates the reader of the indexes of a table. Columns of it with one object id have one index. */
export function createIndexReader(ports: IndexReaderPorts, table: { readonly objectId: number }): IndexReader {
  const fetch = (ids: readonly number[]): Promise<Segment[]> => readBlocks(ports, ids, ports.cache)

  async function findView(index: number): Promise<View | undefined> {
    const { heads, areAll } = await readHeads(ports, ports.cache, { spaces: [table.objectId, index], pace: createPace(ports) })
    return areAll ? viewOf(index, heads) : undefined
  }

  /** What an estimate saw, until it is used: what is chosen by it sees the same, and reads no list of heads again. */
  const seen = new Map<number, View | undefined>()

  async function view(index: number): Promise<View> {
    const found = seen.get(index) ?? (await findView(index))
    // Where a block of it is gone, the next attempt must not see the same.
    seen.delete(index)
    if (found === undefined)
      throw fault('failed_precondition')`A sealed index has too many parts to be read. Run compact of the vault, in one process.`
    return found
  }

  async function estimates(index: number, lists: readonly (readonly KeyRange[])[]): Promise<readonly Bounds[]> {
    const found = seen.has(index) ? seen.get(index) : await beginningAgain(() => findView(index))
    seen.set(index, found)
    return lists.map((ranges) => (found === undefined ? UNBOUNDED : boundsIn(found, ranges)))
  }

  /** Calls back with each block, in no order. */
  async function eachBlock(ids: readonly number[], pace: Pace, use: (segment: Segment) => void): Promise<void> {
    for (let from = 0; from < ids.length; from += BLOCKS_AT_ONCE) {
      for (const segment of await fetch(ids.slice(from, from + BLOCKS_AT_ONCE))) use(segment)
      await pace.worked()
    }
  }

  return {
    estimates,

    async estimate(index, ranges) {
      const [bounds] = await estimates(index, [ranges])
      return required(bounds)
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

    async *walk(index, ranges, direction, onMoved) {
      const left = direction === 'up' ? [...ranges] : ranges.toReversed()
      let last: KeyRows | undefined
      for (let tries = 1; ; tries++) {
        const isWhole = yield* untilGone(groupsAfter(index, { left, direction, last }), (group) => {
          last = group
          tries = 0
        })
        if (isWhole) return
        if (tries >= BEGIN_AGAIN.most) throw BEGIN_AGAIN.lastWord?.(undefined)
        if (last !== undefined) onMoved?.()
      }
    },
  }

  /** Yields the groups of a walk after the last one that it gave, in what the index has now. Takes each range off the list that it has walked. */
  async function* groupsAfter(
    index: number,
    { left, direction, last }: { readonly left: KeyRange[]; readonly direction: Direction; readonly last: KeyRows | undefined },
  ): AsyncGenerator<KeyRows, void, void> {
    const found = await view(index)
    for (let range = left[0]; range !== undefined; range = left[0]) {
      const rest = last === undefined ? range : restOf(range, last.key, direction)
      for await (const group of groupsOf(streamOf(found, rest, direction), fetch)) {
        const fresh = last === undefined ? group : withoutRowsOf(group, last, direction)
        if (fresh.rows.length > 0) yield fresh
      }
      left.shift()
    }
  }
}

/** Yields groups. Returns true at their end, and false where a block was gone. */
async function* untilGone(
  groups: AsyncIterable<KeyRows>,
  onGroup: (group: KeyRows) => void,
): AsyncGenerator<KeyRows, boolean, void> {
  try {
    for await (const group of groups) {
      onGroup(group)
      yield group
    }
    return true
  } catch (error) {
    if (BEGIN_AGAIN.is(error)) return false
    throw error
  }
}

/** Returns what blocks come to whose keys are all in a range, and the ids of those that may have others too. Their values are added to the sum. */
function totalInside(
  runs: readonly BlockRun[],
  range: KeyRange,
  sum: WholeSum | undefined,
): { readonly inside: number; readonly edges: readonly number[] } {
  let inside = 0
  const edges: number[] = []
  for (const run of runs) {
    const span = spanOf(run, range)
    inside += between(run.weights, span.insideFrom, span.insideTo)
    for (const block of edgesOf(span)) edges.push(required(run.ids[block]))
    if (sum === undefined) continue
    const sums = required(run.sums, 'The sum of an index')
    sum.add(required(sums[span.insideTo]) - required(sums[span.insideFrom]))
  }
  return { inside, edges }
}

/** Returns the blocks of a span that may have keys of other ranges: at most two, unless one key fills many blocks. */
function edgesOf({ from, to, insideFrom, insideTo }: BlockSpan): number[] {
  const edges: number[] = []
  for (let block = from; block < to; block++) if (block < insideFrom || block >= insideTo) edges.push(block)
  return edges
}

/** Returns the bounds of how many rows have a key in the ranges. */
function boundsIn({ segments, runs }: View, ranges: readonly KeyRange[]): Bounds {
  let least = 0
  let most = 0
  for (const range of ranges) {
    for (const segment of segments) {
      const count = totalOf(segment, groupsIn(segment, range))
      least += count
      most += count
    }
    for (const run of runs) {
      const span = spanOf(run, range)
      const inside = between(run.weights, span.insideFrom, span.insideTo)
      least += inside
      most += inside
      for (const block of edgesOf(span)) {
        least -= run.went[block] ?? 0
        most += run.came[block] ?? 0
      }
    }
  }
  return { least: Math.max(0, least), most: Math.max(0, most) }
}

function viewOf(index: number, heads: readonly StoredHead[]): View {
  const segments: Segment[] = []
  const runs: BlockRun[] = []
  for (const head of heads) {
    if (head.kind === 'run') runs.push(head.run)
    const segment = head.kind === 'small' ? head.segment : head.kind === 'delta' ? head.segments.get(index) : undefined
    if (segment !== undefined) segments.push(segment)
  }
  return { segments, runs }
}

/** Returns a difference of a list with sums. */
function between(sums: Float64Array, from: number, to: number): number {
  return (sums[to] ?? 0) - (sums[from] ?? 0)
}

/** Returns the ids of the blocks of all runs that may have keys in one of the ranges, each once. */
function blocksIn(runs: readonly BlockRun[], ranges: readonly KeyRange[]): number[] {
  const found = new Set<number>()
  for (const run of runs) {
    for (const range of ranges) {
      const { from, to } = spanOf(run, range)
      for (let block = from; block < to; block++) found.add(required(run.ids[block]))
    }
  }
  return [...found]
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

function streamOf({ segments, runs }: View, range: KeyRange, direction: Direction): EntryStream {
  const parts: (Segment | number)[][] = segments.map((segment) => [segmentIn(segment, range)])
  for (const run of runs) {
    const { from, to } = spanOf(run, range)
    parts.push([...run.ids.subarray(from, to)])
  }
  return new EntryStream(parts, direction, range)
}

/** Yields the keys of a stream with their rows. */
async function* groupsOf(
  stream: EntryStream,
  fetch: (ids: readonly number[]) => Promise<Segment[]>,
): AsyncGenerator<KeyRows, void, void> {
  let most = 1
  let group: { readonly key: Uint8Array; readonly rows: number[] } | undefined
  for (;;) {
    if (stream.isHungry) {
      await stream.fetch(fetch, most)
      most = Math.min(BLOCKS_AT_ONCE, most * 2)
    }
    if (!stream.next()) {
      if (stream.isHungry) continue
      break
    }
    if (group === undefined || group.rows.length >= ROWS_AT_ONCE || !stream.hasKey(group.key)) {
      if (group !== undefined && group.rows.length > 0) yield group
      group = { key: stream.keys.slice(stream.start, stream.end), rows: [] }
    }
    if (stream.weight > 0) group.rows.push(stream.row)
  }
  if (group !== undefined && group.rows.length > 0) yield group
}

/** Returns the part of a range from a key on. */
function restOf(range: KeyRange, key: Uint8Array, direction: Direction): KeyRange {
  const { low, high } = range
  if (direction === 'up') return low !== undefined && compareKeys(low, key) > 0 ? range : { ...range, low: key }
  const to = keyAfter(key)
  return high !== undefined && compareKeys(high, to) < 0 ? range : { ...range, high: to }
}

/** Returns a group without the rows up to the last one of another, if that is of the same key. */
function withoutRowsOf(group: KeyRows, { key, rows }: KeyRows, direction: Direction): KeyRows {
  if (compareKeys(group.key, key) !== 0) return group
  const last = required(rows.at(-1))
  return { key, rows: group.rows.filter((row) => (direction === 'up' ? row > last : row < last)) }
}
