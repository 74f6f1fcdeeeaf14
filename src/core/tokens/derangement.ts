/**
 * A permutation without fixed points made of any permutation, so that no token can be its own value.
 *
 * Let E be the permutation of 0 to d - 1. Its fixed points fall into runs a, a + 1, ..., a + k - 1 of neighbours (counted around the
 * end of the domain); y = a + k, the number behind a run, is no fixed point. Let C move a -> a + 1 -> ... -> a + k - 1 -> y -> a in
 * every run and leave all else alone: runs are apart from each other and each has its own y, so C is a permutation, and so is
 * D(x) = E(C(x)). D has no fixed point: within a run D(x) = x + 1; at its end D(a + k - 1) = E(y), which is not a + k - 1 because E
 * takes only a + k - 1 itself there; D(y) = E(a) = a; and elsewhere D(x) = E(x), which differs from x.
 *
 * So D(x) = E(x) unless x is a fixed point or follows one: about two numbers of the whole domain.
 */
import { VaultError } from '../errors.ts'
import type { Rank } from '../ports/keys.ts'

/** A permutation for each domain and context, and its inverse: a key ring at one scope. */
export interface Permutation {
  encipher(ranks: readonly Rank[]): bigint[]
  decipher(ranks: readonly Rank[]): bigint[]
}

/** Neighbouring fixed points a permutation may have. A random one of a million numbers has three in a row once in 10^12. */
const LONGEST_RUN = 1000

/** Where D moves each rank: never to itself. */
export function encipherApart(permutation: Permutation, ranks: readonly Rank[]): bigint[] {
  const befores = ranks.map((rank) => beside(rank, -1n))
  const images = permutation.encipher([...ranks, ...befores])
  return ranks.map((rank, i) => {
    const image = images[i] ?? rank.value
    const before = befores[i] ?? rank
    if (image === rank.value) return permutation.encipher([beside(rank, 1n)])[0] ?? image
    if (images[ranks.length + i] === before.value) return runEnd(permutation, before, -1n).value
    return image
  })
}

/** The way back: the rank that D moves to each of these. */
export function decipherApart(permutation: Permutation, ranks: readonly Rank[]): bigint[] {
  const origins = permutation.decipher(ranks)
  const befores = ranks.map((rank, i) => beside({ ...rank, value: origins[i] ?? rank.value }, -1n))
  const beforeOrigins = permutation.decipher(befores)
  return ranks.map((rank, i) => {
    const before = befores[i] ?? rank
    if (beforeOrigins[i] === before.value) return before.value
    const origin = origins[i] ?? rank.value
    return origin === rank.value ? beside(runEnd(permutation, rank, 1n), 1n).value : origin
  })
}

/** The rank so far away, around the end of the domain. */
function beside(rank: Rank, distance: bigint): Rank {
  return { ...rank, value: (rank.value + distance + rank.domain) % rank.domain }
}

/** The last fixed point of the run this fixed point is in, going up or down. */
function runEnd(permutation: Permutation, fixed: Rank, direction: 1n | -1n): Rank {
  let end = fixed
  for (let length = 1; length <= LONGEST_RUN; length++) {
    const next = beside(end, direction)
    if (permutation.encipher([next])[0] !== next.value) return end
    end = next
  }
  throw new VaultError('internal', 'The permutation for tokens leaves too many numbers in their place. Check the key engine.')
}
