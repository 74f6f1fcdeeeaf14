/** Uniform random ranks below given domains. */
import type { Entropy } from '../ports/entropy.ts'
import { readU32 } from '../util/bytes.ts'

/** Bytes drawn beyond those the domain fills, so that a draw is thrown away once in 2^64. */
const SPARE_BYTES = 8

/** One number from 0 to domain - 1 for each domain, every one of them equally likely. */
export function drawRanks(entropy: Entropy, domains: readonly bigint[]): bigint[] {
  const sizes = domains.map((domain) => Math.ceil(domain.toString(16).length / 8) * 4 + SPARE_BYTES)
  const bytes = entropy.bytes(sizes.reduce((sum, size) => sum + size, 0))
  let at = 0
  return domains.map((domain, i) => {
    const start = at
    at += sizes[i] ?? 0
    return toRank(bytes, start, at, domain) ?? drawAgain(entropy, at - start, domain)
  })
}

function drawAgain(entropy: Entropy, size: number, domain: bigint): bigint {
  for (;;) {
    const rank = toRank(entropy.bytes(size), 0, size, domain)
    if (rank !== undefined) return rank
  }
}

/** The remainder, unless the number lies in the last, incomplete multiple of the domain: there small ranks would come up more often. */
function toRank(bytes: Uint8Array, start: number, end: number, domain: bigint): bigint | undefined {
  let number = 0n
  for (let at = start; at < end; at += 4) number = (number << 32n) | BigInt(readU32(bytes, at))
  const all = 1n << BigInt((end - start) * 8)
  return number < all - (all % domain) ? number % domain : undefined
}
