/**
 * Derives a derangement, a permutation without fixed points, from any permutation, so that no token equals its value.
 *
 * Let E be the permutation of 0 to d - 1. Its fixed points form runs a, a + 1, ..., a + k - 1 of neighbors, counted around the
 * end of the domain. The number after a run, y = a + k, is not a fixed point. Let C be the cycle a -> a + 1 -> ... -> a + k - 1
 * -> y -> a of every run, and the identity elsewhere. Runs are disjoint and each has its own y, so C is a permutation, and so is
 * D(x) = E(C(x)). D has no fixed point:
 * - Within a run, D(x) = x + 1.
 * - At the end of a run, D(a + k - 1) = E(y). That is not a + k - 1, because E maps only a + k - 1 to itself.
 * - After a run, D(y) = E(a) = a.
 * - Elsewhere, D(x) = E(x), which is not x.
 *
 * So D(x) = E(x) unless x is a fixed point or follows one. A random permutation has about two such numbers.
 */
import { VaultError } from '../errors.ts'
import type { Rank } from '../ports/crypto.ts'
import { at } from '../util/lists.ts'

/** A permutation for each domain and tweak text, and its inverse: a key ring with one digest scope. */
export interface Permutation {
  encrypt(ranks: readonly Rank[]): bigint[]
  decrypt(ranks: readonly Rank[]): bigint[]
}

/** Maximum length of a run of fixed points. A random permutation of a million numbers has a run of three once in 10^12. */
const MAX_RUN_LENGTH = 1000

/** Returns what D maps each rank to, in order: never the rank itself. Throws `internal` for a permutation that is not random. */
export function encryptDeranged(permutation: Permutation, ranks: readonly Rank[]): bigint[] {
  const befores = ranks.map((rank) => neighbor(rank, -1n))
  const images = permutation.encrypt([...ranks, ...befores])
  return ranks.map((rank, i) => {
    const image = at(images, i)
    const before = at(befores, i)
    if (image === rank.value) return at(permutation.encrypt([neighbor(rank, 1n)]), 0)
    if (at(images, ranks.length + i) === before.value) return runEnd(permutation, before, -1n).value
    return image
  })
}

/** The inverse: returns the rank that D maps to each of these, in order. */
export function decryptDeranged(permutation: Permutation, ranks: readonly Rank[]): bigint[] {
  const origins = permutation.decrypt(ranks)
  const befores = ranks.map((rank, i) => withValue(rank, neighborOf(at(origins, i), rank.domain, -1n)))
  const beforeOrigins = permutation.decrypt(befores)
  return ranks.map((rank, i) => {
    const before = at(befores, i)
    if (at(beforeOrigins, i) === before.value) return before.value
    const origin = at(origins, i)
    return origin === rank.value ? neighbor(runEnd(permutation, rank, 1n), 1n).value : origin
  })
}

function withValue({ domain, tweakText }: Rank, value: bigint): Rank {
  return tweakText === undefined ? { value, domain } : { value, domain, tweakText }
}

/** Returns the rank at a distance of 1 or -1, around the end of the domain. */
function neighbor(rank: Rank, distance: 1n | -1n): Rank {
  return withValue(rank, neighborOf(rank.value, rank.domain, distance))
}

function neighborOf(value: bigint, domain: bigint, distance: 1n | -1n): bigint {
  const next = value + distance
  if (next < 0n) return domain - 1n
  return next === domain ? 0n : next
}

/** Returns the last fixed point of the run that contains `fixed`, in one direction. */
function runEnd(permutation: Permutation, fixed: Rank, direction: 1n | -1n): Rank {
  let end = fixed
  for (let length = 1; length <= MAX_RUN_LENGTH; length++) {
    const next = neighbor(end, direction)
    if (permutation.encrypt([next])[0] !== next.value) return end
    end = next
  }
  throw new VaultError('internal', 'The permutation for tokens has too many fixed points. Check the key ring factory.')
}
