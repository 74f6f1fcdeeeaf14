/** Converts chain positions to row ids and back. A row id is the chain and the sequence number, so that order by id is the order of the chains. */
import { fault } from '../errors.ts'
import { MOST_LANES } from '../limits.ts'

/** Number of positions of a chain: 32 of the 48 bits of a row id. */
const CHAIN_SIZE = 0x1_0000_0000

/** A chain and a sequence number in it, both from 1. */
export interface LanePlace {
  readonly lane: number
  readonly sequence: number
}

/** Returns the row id of a position. Throws `storage_full` beyond the last position of a chain. */
export function rowOfPlace({ lane, sequence }: LanePlace): number {
  if (sequence >= CHAIN_SIZE) throw fault('storage_full')`Audit chain ${lane} is full.`
  return lane * CHAIN_SIZE + sequence
}

/** Returns the position of a row id; undefined for a row that no event can have. */
export function placeOfRow(row: number): LanePlace | undefined {
  const lane = Math.floor(row / CHAIN_SIZE)
  const sequence = row % CHAIN_SIZE
  return lane >= 1 && lane <= MOST_LANES && sequence >= 1 ? { lane, sequence } : undefined
}
