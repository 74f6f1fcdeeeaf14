/** Random ranks: below their domain, without bias, and redrawn in the incomplete last multiple of the domain. */
import { expect, it } from 'vitest'
import type { Entropy } from '../../../src/core/ports/crypto.ts'
import { drawRanks } from '../../../src/core/tokens/draw-ranks.ts'
import { seededRandom } from '../../support/random/seeded-random.ts'

const SEED = 'draw ranks 1'

function seededEntropy(): Entropy {
  const random = seededRandom(SEED)
  return { bytes: (count) => Uint8Array.from({ length: count }, () => Math.floor(random() * 256)) }
}

/** A source of random bytes that returns these lists, one after the other. */
function listedEntropy(...fills: readonly number[]): Entropy & { readonly asked: readonly number[] } {
  const asked: number[] = []
  return {
    asked,
    bytes(count) {
      asked.push(count)
      return new Uint8Array(count).fill(fills[asked.length - 1] ?? 0)
    },
  }
}

it('returns ranks below their domain that reach both ends, for every size', () => {
  const domains = [1n, 2n, 3n, 255n, 256n, 257n, 2n ** 32n, 2n ** 32n + 1n, 10n ** 6n, 90_000_000n, 36n ** 13n, 26n ** 256n]
  const entropy = seededEntropy()
  for (const domain of domains) {
    const ranks = drawRanks(entropy, new Array<bigint>(500).fill(domain))
    expect(ranks.every((rank) => rank >= 0n && rank < domain)).toBe(true)
    if (domain > 1000n) expect(new Set(ranks.map((rank) => (rank * 10n) / domain)).size).toBe(10)
    if (domain === 3n) expect(new Set(ranks).size).toBe(3)
  }
  expect(drawRanks(entropy, [])).toEqual([])
})

it('reads the bytes of a draw as one number, whatever their count', () => {
  for (const domain of [10n ** 6n, 10n ** 16n, 2n ** 40n + 1n, 2n ** 70n, 36n ** 30n]) {
    const [first = -1n] = drawRanks(seededEntropy(), [domain])
    const size = Math.ceil(domain.toString(16).length / 8) * 4 + 8
    expect(first).toBe(BigInt(`0x${Buffer.from(seededEntropy().bytes(size)).toString('hex')}`) % domain)
  }
})

it('returns every rank of a small domain equally often', () => {
  const domain = 7
  const counts = new Array<number>(domain).fill(0)
  for (const rank of drawRanks(seededEntropy(), new Array<bigint>(70_000).fill(BigInt(domain)))) {
    counts[Number(rank)] = (counts[Number(rank)] ?? 0) + 1
  }
  // 10,000 each, give or take six standard deviations.
  for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(6 * Math.sqrt(10_000))
})

it('redraws a number in the incomplete last multiple, and keeps the other draws', () => {
  const domain = 1_000_003n
  const all = 2n ** 96n
  const entropy = listedEntropy(0xff, 0x01)
  const one = BigInt(`0x${'01'.repeat(12)}`)
  expect(drawRanks(entropy, [domain])).toEqual([one % domain])
  expect(entropy.asked).toEqual([12, 12])
  expect(all - 1n >= all - (all % domain)).toBe(true)
  // A power of two has no incomplete multiple: nothing is thrown away.
  const whole = listedEntropy(0xff)
  expect(drawRanks(whole, [2n ** 20n])).toEqual([2n ** 20n - 1n])
  expect(whole.asked).toEqual([12])
})

it('draws the bytes of a list in one call', () => {
  const entropy = listedEntropy(0x02)
  const two = BigInt(`0x${'02'.repeat(12)}`)
  expect(drawRanks(entropy, [10n ** 6n, 10n ** 7n, 10n ** 6n])).toEqual([two % 10n ** 6n, two % 10n ** 7n, two % 10n ** 6n])
  expect(entropy.asked).toEqual([36])
})
