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
  const chain = Math.floor(row / CHAIN_SIZE)
  const sequence = row % CHAIN_SIZE
  return chain >= 1 && chain <= MAX_CHAINS && sequence >= 1 ? { chain, sequence } : undefined
}
