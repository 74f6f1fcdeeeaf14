/** What one statement saw of an index: its segments and runs, and where ranges of keys are in them. */
import type { KeyRange } from '../index-runs/order-key.ts'
import { type BlockRun, type BlockSpan, spanOf } from '../index-runs/run-head.ts'
import { groupsIn, type Segment, segmentIn } from '../index-runs/segment.ts'
import { totalOf, type WholeSum } from '../index-runs/whole-sum.ts'
import { required } from '../util/lists.ts'
import { type Direction, EntryStream } from './entry-stream.ts'
import type { StoredHead } from './index-rows.ts'

/** What one statement saw of an index. */
export interface IndexView {
  readonly segments: readonly Segment[]
  readonly runs: readonly BlockRun[]
}

/** Returns what the heads of an index and the deltas of its table have of it. */
export function viewOf(index: number, heads: readonly StoredHead[]): IndexView {
  const segments: Segment[] = []
  const runs: BlockRun[] = []
  for (const head of heads) {
    if (head.kind === 'run') runs.push(head.run)
    const segment = head.kind === 'small' ? head.segment : head.kind === 'delta' ? head.segments.get(index) : undefined
    if (segment !== undefined) segments.push(segment)
  }
  return { segments, runs }
}

/** Bounds of a number of rows. */
export interface Bounds {
  readonly least: number
  readonly most: number
}

/** Returns what blocks come to whose keys are all in a range, and the ids of those that may have others too. Their values are added to the sum. */
export function totalInside(
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
  for (let block = from; block < Math.min(to, insideFrom); block++) edges.push(block)
  for (let block = insideTo; block < to; block++) edges.push(block)
  return edges
}

/** Returns the bounds of how many rows have a key in the ranges. */
export function boundsIn({ segments, runs }: IndexView, ranges: readonly KeyRange[]): Bounds {
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

/** Returns a difference of a list with sums. */
function between(sums: Float64Array, from: number, to: number): number {
  return (sums[to] ?? 0) - (sums[from] ?? 0)
}

/** Returns the ids of the blocks of all runs that may have keys in one of the ranges, each once. */
export function blocksIn(runs: readonly BlockRun[], ranges: readonly KeyRange[]): number[] {
  const found = new Set<number>()
  for (const run of runs) {
    for (const range of ranges) {
      const { from, to } = spanOf(run, range)
      for (let block = from; block < to; block++) found.add(required(run.ids[block]))
    }
  }
  return [...found]
}

/** Returns the entries of a range in order, before a block was fetched. */
export function streamOf({ segments, runs }: IndexView, range: KeyRange, direction: Direction): EntryStream {
  const parts: (Segment | Float64Array)[] = segments.map((segment) => segmentIn(segment, range))
  for (const run of runs) {
    const { from, to } = spanOf(run, range)
    parts.push(run.ids.subarray(from, to))
  }
  return new EntryStream(parts, direction, range)
}
