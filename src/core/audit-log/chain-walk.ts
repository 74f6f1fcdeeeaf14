/** Begins to read the audit chains backward: which chains there are, and from which event on each is read. */
import { type ChainHead, decodeHead } from '../audit/chain-head.ts'
import { chainOfRow, fromRowId, type RowRange, rowsOfChains } from '../audit/chain-position.ts'
import { MAX_CHAINS } from '../limits.ts'
import { createPageSize, eachPossiblePage } from '../pace/pages.ts'
import { AUDIT_CHAINS, AUDIT_EVENTS } from '../schema/system-tables.ts'
import { append } from '../util/lists.ts'
import { toTimestamp } from '../util/time.ts'
import type { PacedReader } from './dated-events.ts'
import type { OpenedEntry } from './event-store.ts'
import { openInSlices } from './read-trail.ts'

/** A chain that is read backward. Times are timestamps of events, which have equal length: their texts order as the times do. */
export interface ChainWalk {
  readonly chain: number
  /** Row id. Rows from here on are not read. */
  readonly before: number
  /** The rows that are left have earlier events. */
  readonly earlierThan: string
}

/** Later than any timestamp. */
export const END_OF_TIME = '~'

/** Returns the walks of all chains, lowest chain first. Events appended from now on are not in them. */
export async function beginWalks(reader: PacedReader): Promise<ChainWalk[]> {
  const heads = await storedHeads(reader)
  for (const chain of await chainsBeyond(reader, [...heads])) heads.set(chain, undefined)
  return [...heads].sort(([left], [right]) => left - right).map(([chain, head]) => walkOf(chain, head))
}

/** Begins at the head. A chain without one that can be trusted is read from the last row that it can have. */
function walkOf(chain: number, head: ChainHead | undefined): ChainWalk {
  const { after, before } = rowsOfChains(chain)
  if (head === undefined) return { chain, before, earlierThan: END_OF_TIME }
  return { chain, before: after + head.sequence + 1, earlierThan: toTimestamp(head.at + 1n) }
}

/** Returns the head of each chain that has one, lowest chain first; undefined if it fails authentication. */
async function storedHeads(reader: PacedReader): Promise<Map<number, ChainHead | undefined>> {
  const { storage, pace } = reader
  const heads = new Map<number, ChainHead | undefined>()
  for await (const rows of eachPossiblePage(storage, AUDIT_CHAINS.name, { size: createPageSize() })) {
    for await (const entries of openInSlices(reader, { kind: 'head', rows, pace })) {
      for (const entry of entries) if (entry.id <= MAX_CHAINS) heads.set(entry.id, readHead(entry))
    }
  }
  return heads
}

/** The heads of chains, rising. */
type Heads = readonly (readonly [number, ChainHead | undefined])[]

/** Heads after each of which any later row is searched. Each takes a read of its own, so with more heads a listing would take too many. */
const MAX_SEARCHED = 16

/**
 * Returns the chains with a row that no head accounts for. Either the chain has no head, because it was deleted in the database, or a row is
 * stored after its head: that is an older head, restored in the database, or the event was appended meanwhile. Any later row counts, not
 * only the next one: that one can have been deleted. With many chains, only the next row is looked at, in one read for all.
 */
async function chainsBeyond(reader: PacedReader, heads: Heads): Promise<number[]> {
  if (heads.length <= MAX_SEARCHED) {
    // Up to the next chain with a head, so that one read finds later rows and chains without a head.
    const found = await Promise.all(rangesBetween(heads, rowOfHead).map((range) => chainsIn(reader, range)))
    return found.flat()
  }
  const chains = await chainsWithNextRow(reader, heads)
  for (const range of rangesBetween(heads, ([chain]) => lastRowOf(chain))) append(chains, await chainsIn(reader, range))
  return chains
}

/** Returns the rows between each head and the next chain with a head, and those before the first. `lastOf` returns the last row to leave out. */
function rangesBetween(heads: Heads, lastOf: (head: Heads[number]) => number): RowRange[] {
  const { after, before } = rowsOfChains(1, MAX_CHAINS)
  const starts = [after, ...heads.map(lastOf)]
  const ends = [...heads.map(([chain]) => rowsOfChains(chain).after), before]
  const ranges = starts.map((start, index): RowRange => ({ after: start, before: ends[index] ?? before }))
  return ranges.filter((range) => range.before - range.after > 1)
}

/** Returns the row of the last event that a head accounts for: all of a chain that is read as a whole anyway. */
function rowOfHead([chain, head]: Heads[number]): number {
  return head === undefined ? lastRowOf(chain) : rowsOfChains(chain).after + head.sequence
}

function lastRowOf(chain: number): number {
  return rowsOfChains(chain).before - 1
}

async function chainsWithNextRow({ storage }: PacedReader, heads: Heads): Promise<number[]> {
  const next = heads.flatMap((head) => (head[1] === undefined ? [] : [rowOfHead(head) + 1]))
  const rows = await storage.get(AUDIT_EVENTS.name, next)
  return rows.flatMap((row) => (row === undefined ? [] : [chainOfRow(row.id)]))
}

/** Returns the chains that have rows in a range. */
async function chainsIn(reader: PacedReader, { after, before }: RowRange): Promise<number[]> {
  const chains: number[] = []
  for (let end = before; ; ) {
    const row = await lastRow(reader, { after, before: end })
    if (row === undefined) return chains
    const chain = chainOfRow(row)
    if (fromRowId(row) !== undefined) chains.push(chain)
    end = rowsOfChains(chain).after
  }
}

function readHead({ id, bytes }: OpenedEntry): ChainHead | undefined {
  try {
    const head = bytes === undefined ? undefined : decodeHead(bytes)
    return head?.chain === id ? head : undefined
  } catch {
    // Its format is that of a later version. Events are listed without heads, too.
    return undefined
  }
}

/** Returns the id of the last row between two ids, both excluded. */
export async function lastRow(
  { storage }: Pick<PacedReader, 'storage'>,
  { after, before }: RowRange,
): Promise<number | undefined> {
  // Without a filter: a storage may look at each row that does not match.
  const [row] = await storage.find(AUDIT_EVENTS.name, { kind: 'all' }, { order: 'desc', after: before, limit: 1, columns: [] })
  return row !== undefined && row.id > after ? row.id : undefined
}
