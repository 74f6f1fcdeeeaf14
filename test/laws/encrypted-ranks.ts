/** Law: the encryption of ranks is FF1 with cycle walking, as an independent implementation computes it. */
import { FF1 } from '@noble/ciphers/ff1.js'
import { createRankCipher, rankTweak } from '../../src/adapters/keys/rank-cipher.ts'
import type { Rank } from '../../src/core/ports/crypto.ts'
import { IMPLEMENTATIONS } from '../adapters/keys/implementations.ts'
import type { SeededRandom } from '../support/random/seeded-random.ts'
import type { Law } from './law.ts'

const VAULT = 'vault'
const MAX_COUNT = 60
/** Domains have 6 to this number of digits: halves of numbers and of big integers both occur. */
const MAX_DIGITS = 24

export const encryptedRanks: Law = {
  name: 'encrypted-ranks',
  statement:
    'Ranks in random domains encrypt as FF1 of an independent implementation with cycle walking, and decrypt to themselves',
  unit: 'ranks',
  figures: { test: 1_000, soak: 1_000_000 },
  weight: 3,
  open: () => ({
    check({ random }) {
      const key = random.bytes(32)
      const ranks = drawRanks(random)
      const expected = ranks.map((rank) => referenceRank(key, rank))
      for (const { createInPlaceCipher } of IMPLEMENTATIONS) {
        const cipher = createRankCipher(createInPlaceCipher(key), VAULT)
        const images = cipher.encrypt(ranks)
        const wrong = ranks.findIndex((_, i) => images[i] !== expected[i])
        if (wrong >= 0) throw new Error(`rank ${wrong} in a domain of ${ranks[wrong]?.domain} is encrypted otherwise`)
        const origins = cipher.decrypt(ranks.map((rank, i) => ({ ...rank, value: images[i] ?? 0n })))
        const lost = ranks.findIndex(({ value }, i) => origins[i] !== value)
        if (lost >= 0) throw new Error(`rank ${lost} in a domain of ${ranks[lost]?.domain} does not decrypt`)
        cipher.close()
      }
      return ranks.length
    },
  }),
}

/** Ranks of a few domains and tweak texts: neighbors share them, or do not. */
function drawRanks(random: SeededRandom): Rank[] {
  const domains = Array.from({ length: 1 + random.below(3) }, () => drawDomain(random))
  const texts = ['', 'a', '4111']
  return Array.from({ length: 1 + random.below(MAX_COUNT) }, () => {
    const domain = random.pick(domains)
    const value = random.pick([0n, domain - 1n, drawBelow(random, domain), drawBelow(random, domain)])
    return { value, domain, tweakText: random.pick(texts) }
  })
}

/** A domain of at least a million. Few are a power of ten or the number above it, where the walk has ten steps. */
function drawDomain(random: SeededRandom): bigint {
  const power = 10n ** BigInt(6 + random.below(MAX_DIGITS - 6))
  return random.chance(0.05) ? power + BigInt(random.below(2)) : power + drawBelow(random, 9n * power)
}

function drawBelow(random: SeededRandom, domain: bigint): bigint {
  return BigInt(`0x${Buffer.from(random.bytes(24)).toString('hex')}`) % domain
}

/** Returns the encrypted rank: FF1 of the independent implementation, with cycle walking as the port describes. */
export function referenceRank(key: Uint8Array, rank: Rank): bigint {
  const length = (rank.domain - 1n).toString().length
  const cipher = FF1(10, key, rankTweak(rank, VAULT))
  let value = rank.value
  do value = BigInt(cipher.encrypt([...value.toString().padStart(length, '0')].map(Number)).join(''))
  while (value >= rank.domain)
  return value
}
