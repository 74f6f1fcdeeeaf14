/** Chooses which chains a listing reads next, and how many rows of each: few more than make the next events certain. */
import type { ChainWalk } from './chain-walk.ts'

/** Chains that are read together at most. */
const MAX_TOGETHER = 16
/** Rows of the first read: of the latest chain, and of all others together. Mostly a page of a listing is in it. */
const FIRST_ROWS = 32

/** A chain to read, and how many rows of it. */
export interface ChosenWalk {
  readonly walk: ChainWalk
  readonly rows: number
}

/**
 * Returns the first chains to read: those with the latest events. Most rows are of the latest one, because callers that come one after the
 * other, and those that share a commit, append to one chain.
 */
export function firstWalks(walks: readonly ChainWalk[]): ChosenWalk[] {
  const latest = latestOf(walks)
  const others = Math.ceil(FIRST_ROWS / latest.length)
  return latest.map((walk, index) => ({ walk, rows: index === 0 ? FIRST_ROWS : others }))
}

/**
 * Returns the next chains to read, with so many rows in all: the latest of those that can have a later event than half of the events that
 * wait. So the chain is among them for which the next event waits, and no chain that ended long ago. `places` are those of the waiting.
 */
export function nextWalks(walks: readonly ChainWalk[], places: readonly string[], rows: number): ChosenWalk[] {
  const middle = [...places].sort()[Math.floor(places.length / 2)] ?? ''
  const latest = latestOf(walks.filter(({ earlierThan }) => earlierThan > middle))
  return latest.map((walk) => ({ walk, rows: Math.ceil(rows / latest.length) }))
}

function latestOf(walks: readonly ChainWalk[]): ChainWalk[] {
  return [...walks].sort((left, right) => (left.earlierThan > right.earlierThan ? -1 : 1)).slice(0, MAX_TOGETHER)
}
