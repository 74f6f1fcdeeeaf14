/** Uniform random ranks below given domains. */
import type { Entropy } from '../ports/entropy.ts'
import { readU32 } from '../util/bytes.ts'

/** Bytes drawn beyond those that the domain needs, so that a draw is rejected once in 2^64. */
const SPARE_BYTES = 8

/** Returns one number from 0 to domain - 1 for each domain, in order. All numbers are equally likely. */
export function drawRanks(entropy: Entropy, domains: readonly bigint[]): bigint[] {
  const bytes = entropy.bytes(domains.reduce((sum, domain) => sum + sizeOf(domain), 0))
  let end = 0
  return domains.map((domain) => {
    const start = end
    end += sizeOf(domain)
    return toRank(bytes, start, end, domain) ?? drawAgain(entropy, end - start, domain)
  })
}

/** Bytes drawn for one number below a domain. */
function sizeOf(domain: bigint): number {
  return Math.ceil(domain.toString(16).length / 8) * 4 + SPARE_BYTES
}

function drawAgain(entropy: Entropy, size: number, domain: bigint): bigint {
  for (;;) {
    const rank = toRank(entropy.bytes(size), 0, size, domain)
    if (rank !== undefined) return rank
  }
}

/** Returns the remainder, or undefined if the number is in the last, incomplete multiple of the domain: small ranks would be more likely there. */
function toRank(bytes: Uint8Array, start: number, end: number, domain: bigint): bigint | undefined {
  let number = 0n
  for (let offset = start; offset < end; offset += 4) number = (number << 32n) | BigInt(readU32(bytes, offset))
  const all = 1n << BigInt((end - start) * 8)
  return number < all - (all % domain) ? number % domain : undefined
}
