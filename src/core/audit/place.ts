/** Where events stand in storage: a row's id is its lane and its place in it, so that order by id is the order of the chains. */
import { VaultError } from '../errors.ts'
import { MOST_LANES } from '../limits.ts'

/** Places a lane has: 32 of the 48 bits of a row id. */
const LANE_SIZE = 0x1_0000_0000

/** Lane and place in it, both from 1. */
export interface LanePlace {
  readonly lane: number
  readonly sequence: number
}

/** The row of this place. */
export function rowOfPlace({ lane, sequence }: LanePlace): number {
  if (sequence >= LANE_SIZE) throw new VaultError('internal', `Lane ${lane} of the audit trail is full.`)
  return lane * LANE_SIZE + sequence
}

/** The place of a row, or undefined for a row no event can have. */
export function placeOfRow(row: number): LanePlace | undefined {
  const lane = Math.floor(row / LANE_SIZE)
  const sequence = row % LANE_SIZE
  return lane >= 1 && lane <= MOST_LANES && sequence >= 1 ? { lane, sequence } : undefined
}
