/** Uniform random ranks below given domains. */
import type { Entropy } from '../ports/crypto.ts'

/** Bytes drawn beyond those that the domain needs, so that a draw is rejected once in 2^64. */
const SPARE_BYTES = 8

/** How numbers below one domain are drawn. */
interface Draw {
  readonly domain: bigint
  /** Bytes drawn for one number. */
  readonly size: number
  /** The largest multiple of the domain that these bytes can hold. Numbers from there on are rejected: small ranks would be more likely. */
  readonly limit: bigint
}

/** Returns one number from 0 to domain - 1 for each domain, in order. All numbers are equally likely. */
export function drawRanks(entropy: Entropy, domains: readonly bigint[]): bigint[] {
  let last: Draw | undefined
  const draws = domains.map((domain) => {
    // Neighbors mostly have one domain.
    last = last?.domain === domain ? last : drawBelow(domain)
    return last
  })
  const bytes = viewOf(entropy.bytes(draws.reduce((sum, { size }) => sum + size, 0)))
  let end = 0
  return draws.map((draw) => {
    const start = end
    end += draw.size
    return toRank(bytes, start, draw) ?? drawAgain(entropy, draw)
  })
}

function drawBelow(domain: bigint): Draw {
  const size = Math.ceil(domain.toString(16).length / 8) * 4 + SPARE_BYTES
  const all = 1n << BigInt(size * 8)
  return { domain, size, limit: all - (all % domain) }
}

function drawAgain(entropy: Entropy, draw: Draw): bigint {
  for (;;) {
    const rank = toRank(viewOf(entropy.bytes(draw.size)), 0, draw)
    if (rank !== undefined) return rank
  }
}

/** Returns the remainder of the number at an offset; undefined if it is rejected. */
function toRank(bytes: DataView, start: number, { domain, size, limit }: Draw): bigint | undefined {
  let number = 0n
  let offset = start
  for (; offset + 8 <= start + size; offset += 8) number = (number << 64n) | bytes.getBigUint64(offset)
  if (offset < start + size) number = (number << 32n) | BigInt(bytes.getUint32(offset))
  return number < limit ? number % domain : undefined
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength)
}
