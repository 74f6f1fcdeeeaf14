/** Begins to read the audit chains backward: which chains there are, and from which event on each is read. */
import { type ChainHead, decodeHead } from '../audit/chain-head.ts'
import { chainOfRow, fromRowId, type RowRange, rowsOfChains } from '../audit/chain-position.ts'
import { MAX_CHAINS } from '../limits.ts'
import { createPageSize } from '../maintenance/page-size.ts'
import { eachPossiblePage } from '../maintenance/possible-rows.ts'
import { AUDIT_CHAINS, AUDIT_EVENTS } from '../schema/system-tables.ts'
import { toTimestamp } from '../util/timestamp.ts'
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
  const heads = await currentHeads(reader)
  const chains = [...heads.keys(), ...(await chainsWithoutHead(reader, [...heads.keys()]))]
  return chains.sort((left, right) => left - right).map((chain) => walkOf(chain, heads.get(chain)))
}

/** Begins at the head. A chain without one that can be trusted is read from the last row that it can have. */
function walkOf(chain: number, head: ChainHead | undefined): ChainWalk {
  const { after, before } = rowsOfChains(chain)
  if (head === undefined) return { chain, before, earlierThan: END_OF_TIME }
  return { chain, before: after + head.sequence + 1, earlierThan: toTimestamp(head.at + 1n) }
}

/**
 * Returns the head of each chain that has one, lowest chain first. It is undefined if it fails authentication, or if a later event is
 * stored: then it is an older head, restored in the database, or the event was appended meanwhile.
 */
async function currentHeads(reader: PacedReader): Promise<Map<number, ChainHead | undefined>> {
  const { storage, yielder } = reader
  const heads = new Map<number, ChainHead | undefined>()
  for await (const rows of eachPossiblePage(storage, AUDIT_CHAINS.name, { size: createPageSize() })) {
    for await (const entries of openInSlices(reader, { kind: 'head', rows, yielder })) {
      for (const entry of entries) if (entry.id <= MAX_CHAINS) heads.set(entry.id, readHead(entry))
    }
  }
  const known = [...heads.values()].filter((head) => head !== undefined)
  for (const chain of await chainsWithLaterRows(reader, known)) heads.set(chain, undefined)
  return heads
}

/** Chains in each of which any later row is searched. Each takes a read of its own, so with more chains a listing would take too many. */
const MAX_SEARCHED = 16

/**
 * Returns the chains in which a row after their head is stored. Any later row counts, not only the next one: that one can have been deleted.
 * With many chains, only the next row is looked at, in one read for all.
 */
async function chainsWithLaterRows(reader: PacedReader, heads: readonly ChainHead[]): Promise<number[]> {
  const ranges = heads.map(rowsAfter)
  const later =
    heads.length <= MAX_SEARCHED
      ? await Promise.all(ranges.map((range) => lastRow(reader, range)))
      : await reader.storage.get(
          AUDIT_EVENTS.name,
          ranges.map(({ after }) => after + 1),
        )
  return heads.flatMap(({ chain }, index) => (later[index] === undefined ? [] : [chain]))
}

function rowsAfter({ chain, sequence }: ChainHead): RowRange {
  const { after, before } = rowsOfChains(chain)
  return { after: after + sequence, before }
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

/** Returns the chains that have events but no head: it was deleted in the database. `known` are those with a head, rising. */
async function chainsWithoutHead(reader: PacedReader, known: readonly number[]): Promise<number[]> {
  const found: number[] = []
  let first = 1
  for (const chain of [...known, MAX_CHAINS + 1]) {
    for (let last = chain - 1; last >= first; ) {
      const row = await lastRow(reader, rowsOfChains(first, last))
      const position = row === undefined ? undefined : fromRowId(row)
      if (position !== undefined) found.push(position.chain)
      last = row === undefined ? 0 : chainOfRow(row) - 1
    }
    first = chain + 1
  }
  return found
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
