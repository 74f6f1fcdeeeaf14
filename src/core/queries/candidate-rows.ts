/** Chooses how the rows of a source are found: by a sealed index, or by reading all that storage returns. Both find the same rows. */
import { EVERY_KEY, type KeyRanges } from '../index-runs/key-ranges.ts'
import type { Bounds } from '../sealed-index/index-view.ts'
import type { IndexReader } from '../sealed-index/read-index.ts'
import type { Candidates, OrderedKeys } from '../sql/candidates.ts'
import { at } from '../util/lists.ts'

/** What reading costs, in microseconds. */
export interface ReadCosts {
  /** Reading and opening one row in a scan. */
  readonly scannedRow: number
  /** Reading and opening one row by its id. */
  readonly foundRow: number
  /** One entry of an index. */
  readonly entry: number
  /** Any use of an index. */
  readonly anyUse: number
}

/** Between what it costs on SQLite and on PostgreSQL, as it was measured. Source: docs/inside/sealed-indexes.md. */
const MEASURED: ReadCosts = { scannedRow: 1.5, foundRow: 4, entry: 0.1, anyUse: 300 }

/** How rows are found: what indexes there are, and what reading costs. */
export interface Choosing {
  readonly indexes: IndexReader
  /** Default: as it was measured. */
  readonly costs: ReadCosts | undefined
}

/** The part of texts that are taken to match a pattern, of which nothing else is known. */
const MATCHING = 0.05
/** The part of all rows after which the rest is not read in the order of an index: conditions leave out nearly all of them. */
const GIVES_UP = 0.25
/** Rows that are read in any case. */
const MIN_ROWS = 2000

/** Lists of keys of which rows must have one each, that are read at most. */
const MAX_LISTS = 4
/** How many times as long as the shortest list one may be. A row by its id costs about as much as so many entries, and not all are left out. */
const MAX_LONGER = 8
/** The part of rows that each list leaves: what is written together is found together. */
const LEFT = 0.5

/** What candidates are taken to come to. */
interface Estimate {
  readonly candidates: Candidates
  /** The ranges to read, of each of which a row must have a key. */
  readonly lists: readonly [KeyRanges, ...KeyRanges[]]
  /** How many entries are read for them. */
  readonly entries: number
  /** How many rows they are: at most, and at least, as far as it is known. */
  readonly rows: number
  readonly leastRows: number
}

/**
 * Returns the ids, rising, of rows among which are all that the conditions are true of; undefined if a scan costs less. `wanted` rows end the reading. Of a
 * narrow range an estimate says little: its blocks have many other keys. Candidates are cheap beside rows, so they are counted first.
 */
export async function candidateRows(
  { indexes, costs = MEASURED }: Choosing,
  candidates: readonly Candidates[],
  wanted: number,
): Promise<Float64Array | undefined> {
  const best = await cheapest({ indexes, costs }, candidates, wanted)
  if (best === undefined) return undefined
  const { index, tests, everyRow } = best.candidates
  const all = (await indexes.estimate(index.objectId, everyRow)).most
  const costOfScan = (rows: number): number => Math.min(all, (wanted * all) / Math.max(rows, 1)) * costs.scannedRow
  if (costOf(costs, { ...best, rows: best.leastRows }, wanted) > costOfScan(best.leastRows)) return undefined
  const [first, ...others] = best.lists
  let found = await indexes.candidates(index.objectId, first, tests)
  for (const ranges of others) found = inBoth(found, await indexes.candidates(index.objectId, ranges, tests))
  return Math.min(found.length, wanted) * costs.foundRow > costOfScan(found.length) ? undefined : found
}

/** Returns what is in both of two rising lists. */
function inBoth(one: Float64Array, other: Float64Array): Float64Array {
  let at = 0
  return one.filter((row) => {
    while ((other[at] ?? row) < row) at++
    return other[at] === row
  })
}

/** Returns how many rows to read at most in the order of an index, of which `wanted` end the reading; 0 if reading all rows and sorting them costs less. */
export async function rowsToWalk(
  { indexes, costs = MEASURED }: Choosing,
  { index, ranges }: OrderedKeys,
  { candidates, wanted }: { readonly candidates: readonly Candidates[]; readonly wanted: number },
): Promise<number> {
  const all = await entriesIn(indexes, index, EVERY_KEY)
  if (all === Number.POSITIVE_INFINITY) return 0
  const inRange = await entriesIn(indexes, index, ranges)
  const others = candidates.filter((one) => one.index !== index)
  const best = await cheapest({ indexes, costs }, others, Number.POSITIVE_INFINITY)
  const walked = Math.min(inRange, best === undefined ? wanted : (wanted * all) / Math.max(best.rows, 1))
  const sorted = Math.min(all * costs.scannedRow, best === undefined ? Number.POSITIVE_INFINITY : costOf(costs, best, all))
  const isCheaper = costs.anyUse + walked * (costs.entry + costs.foundRow) <= sorted
  return isCheaper ? Math.max(MIN_ROWS, all * GIVES_UP) : 0
}

/** Returns the candidates that cost least. */
async function cheapest(
  { indexes, costs }: { readonly indexes: IndexReader; readonly costs: ReadCosts },
  all: readonly Candidates[],
  wanted: number,
): Promise<Estimate | undefined> {
  let best: Estimate | undefined
  for (const candidates of all) {
    const one = await estimateOf(indexes, candidates)
    // It has too many parts to be read.
    if (one.entries === Number.POSITIVE_INFINITY) continue
    if (best === undefined || costOf(costs, one, wanted) < costOf(costs, best, wanted)) best = one
  }
  return best
}

/** Estimates candidates by those of their lists that are shortest. */
async function estimateOf(indexes: IndexReader, candidates: Candidates): Promise<Estimate> {
  const { index, ranges, others, tests, isExact } = candidates
  const lists: ({ readonly list: KeyRanges } & Bounds)[] = []
  for (const list of [ranges, ...others]) lists.push({ list, ...(await indexes.estimate(index.objectId, list)) })
  lists.sort((one, other) => one.most - other.most)
  const shortest = at(lists, 0)
  const more = lists.slice(1, MAX_LISTS).filter(({ most }) => most <= shortest.most * MAX_LONGER)
  const part = tests.length > 0 && !isExact ? MATCHING : LEFT ** more.length
  return {
    candidates,
    lists: [shortest.list, ...more.map(({ list }) => list)],
    entries: more.reduce((sum, { most }) => sum + most, shortest.most),
    rows: shortest.most * part,
    leastRows: shortest.least * part,
  }
}

/** Returns how many rows have a key in the ranges, at most. */
async function entriesIn(indexes: IndexReader, { objectId }: { readonly objectId: number }, ranges: KeyRanges): Promise<number> {
  return (await indexes.estimate(objectId, ranges)).most
}

/** Returns the microseconds that candidates take, with reading those of their rows that are wanted. */
function costOf(
  { anyUse, entry, foundRow }: ReadCosts,
  { entries, rows }: Pick<Estimate, 'entries' | 'rows'>,
  wanted: number,
): number {
  return anyUse + entries * entry + Math.min(rows, wanted) * foundRow
}
