/** Converts chain positions to row ids and back. A row id is the chain and the sequence number, so that order by id is the order of the chains. */
import { fault } from '../errors.ts'
import { MAX_CHAINS } from '../limits.ts'

/** Number of positions of a chain: 32 of the 48 bits of a row id. */
const CHAIN_SIZE = 0x1_0000_0000

/** A chain and a sequence number in it, both from 1. */
export interface ChainPosition {
  readonly chain: number
  readonly sequence: number
}

/** Returns the row id of a position. Throws `storage_full` beyond the last position of a chain. */
export function toRowId({ chain, sequence }: ChainPosition): number {
  if (sequence >= CHAIN_SIZE) throw fault('storage_full')`Audit chain ${chain} is full.`
  return chain * CHAIN_SIZE + sequence
}

/** Returns the position of a row id; undefined for a row that no event can have. */
export function fromRowId(row: number): ChainPosition | undefined {
  const chain = chainOfRow(row)
  const sequence = row % CHAIN_SIZE
  return chain >= 1 && chain <= MAX_CHAINS && sequence >= 1 ? { chain, sequence } : undefined
}

/** Returns the number of the chain in a row id, even if no event can have the row. */
export function chainOfRow(row: number): number {
  return Math.floor(row / CHAIN_SIZE)
}

/** The rows between two ids, both excluded. */
export interface RowRange {
  readonly after: number
  readonly before: number
}

/** Returns the range of the rows that the events of these chains have. */
export function rowsOfChains(first: number, last = first): RowRange {
  return { after: first * CHAIN_SIZE, before: (last + 1) * CHAIN_SIZE }
}
