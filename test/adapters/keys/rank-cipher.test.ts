/** Permutations of any domain: FF1 with cycle walking, bound to scope, vault, domain and tweak text. */
import { expect, it } from 'vitest'
import { deriveKey } from '../../../src/adapters/keys/key-bytes.ts'
import { keyRingFactory } from '../../../src/adapters/keys/key-ring-factory.ts'
import { rankTweak } from '../../../src/adapters/keys/rank-cipher.ts'
import { isVaultError } from '../../../src/core/errors.ts'
import type { Rank } from '../../../src/core/ports/crypto.ts'
import { encryptedRanks, referenceRank } from '../../laws/encrypted-ranks.ts'
import { itHolds } from '../../support/laws/it-holds.ts'
import { rankCipherOf } from './implementations.ts'
import { seededBytes } from './seeded-bytes.ts'

const SEED = 'rank property 1'

itHolds(encryptedRanks)

function below(random: ReturnType<typeof seededBytes>, domain: bigint): bigint {
  return BigInt(`0x${Buffer.from(random.bytes(64)).toString('hex')}`) % domain
}

it('domains of every size in one list equal the independent FF1 with cycle walking, and decrypt', () => {
  const random = seededBytes(SEED)
  const key = random.bytes(32)
  const cipher = rankCipherOf(key, 'vault')
  const domains = [
    10n ** 6n,
    10n ** 6n + 1n,
    3_652_059n,
    26n ** 5n,
    9n * 10n ** 7n,
    2n ** 32n,
    10n ** 18n,
    10n ** 18n + 1n,
    36n ** 13n,
    62n ** 40n,
  ]
  const ranks = Array.from({ length: 200 }, (_, i): Rank => {
    const domain = domains[i % domains.length] ?? 10n ** 6n
    const value = i < 10 ? 0n : i < 20 ? domain - 1n : below(random, domain)
    return i % 3 === 0 ? { value, domain } : { value, domain, tweakText: `context ${i % 7}` }
  })
  const images = cipher.encrypt(ranks)
  expect(images).toEqual(ranks.map((rank) => referenceRank(key, rank)))
  for (const [i, image] of images.entries()) expect(image < (ranks[i]?.domain ?? 0n)).toBe(true)
  expect(cipher.decrypt(ranks.map((rank, i) => ({ ...rank, value: images[i] ?? 0n })))).toEqual(ranks.map(({ value }) => value))
})

it('20,000 neighbors in one domain encrypt to distinct, evenly spread numbers and decrypt', () => {
  const domain = 1_300_000n
  const cipher = rankCipherOf(new Uint8Array(32).fill(5), 'vault')
  const ranks = Array.from({ length: 20_000 }, (_, i) => ({ value: BigInt(i), domain }))
  const images = cipher.encrypt(ranks)
  expect(new Set(images).size).toBe(ranks.length)
  const tenths = new Array<number>(10).fill(0)
  for (const image of images) tenths[Number((image * 10n) / domain)] = (tenths[Number((image * 10n) / domain)] ?? 0) + 1
  // 2,000 in each, give or take six standard deviations.
  for (const count of tenths) expect(Math.abs(count - 2000)).toBeLessThan(6 * Math.sqrt(1800))
  expect(cipher.decrypt(images.map((value) => ({ value, domain })))).toEqual(ranks.map(({ value }) => value))
})

it('another scope, vault, root key, domain or tweak text changes the result, and another root version does not', () => {
  const key = new Uint8Array(32).fill(9)
  const rank: Rank = { value: 12_345n, domain: 10n ** 12n }
  const ring = keyRingFactory.createRing('vault', [{ version: 1, key }])
  const image = ring.encryptRanks(1, 'cards.number', [rank])[0]
  expect(ring.decryptRanks(1, 'cards.number', [{ ...rank, value: image ?? 0n }])).toEqual([rank.value])
  expect(rankCipherOf(deriveKey(key, 'vault', { kind: 'rank', scope: 'cards.number' }), 'vault').encrypt([rank])).toEqual([image])
  const rotated = keyRingFactory.createRing('vault', [
    { version: 2, key: new Uint8Array(32).fill(1) },
    { version: 1, key },
  ])
  expect(rotated.encryptRanks(1, 'cards.number', [rank])).toEqual([image])
  const others = [
    ring.encryptRanks(1, 'cards.other', [rank])[0],
    keyRingFactory.createRing('other', [{ version: 1, key }]).encryptRanks(1, 'cards.number', [rank])[0],
    keyRingFactory.createRing('vault', [{ version: 1, key: new Uint8Array(32) }]).encryptRanks(1, 'cards.number', [rank])[0],
    ring.encryptRanks(1, 'cards.number', [{ ...rank, domain: 10n ** 12n - 1n }])[0],
    ring.encryptRanks(1, 'cards.number', [{ ...rank, tweakText: '4111' }])[0],
    ring.encryptRanks(1, 'cards.number', [{ ...rank, tweakText: '4112' }])[0],
  ]
  expect(new Set([image, ...others]).size).toBe(7)
})

it('the tweak separates domain, vault and tweak text, even if one ends as the next begins', () => {
  const tweaks = [
    rankTweak({ value: 0n, domain: 10n, tweakText: 'c' }, 'v'),
    rankTweak({ value: 0n, domain: 101n, tweakText: 'c' }, 'v'),
    rankTweak({ value: 0n, domain: 10n, tweakText: '/c' }, 'v'),
    rankTweak({ value: 0n, domain: 10n, tweakText: 'c' }, 'v/'),
    rankTweak({ value: 0n, domain: 10n, tweakText: '' }, 'v/c'),
    rankTweak({ value: 0n, domain: 10n }, 'v'),
  ]
  expect(new Set(tweaks.map((tweak) => Buffer.from(tweak).toString('hex'))).size).toBe(6)
  expect(tweaks.every((tweak) => tweak.length === 8)).toBe(true)
  expect(rankTweak({ value: 5n, domain: 10n, tweakText: '' }, 'v')).toEqual(rankTweak({ value: 0n, domain: 10n }, 'v'))
})

it('a domain below a million or a number outside its domain throws internal without quoting it', () => {
  const cipher = rankCipherOf(new Uint8Array(32), 'vault')
  const refused: readonly Rank[] = [
    { value: 0n, domain: 999_999n },
    { value: 0n, domain: 0n },
    { value: 1_234_567n, domain: 1_234_567n },
    { value: -1n, domain: 10n ** 6n },
  ]
  for (const rank of refused) {
    for (const direction of ['encrypt', 'decrypt'] as const) {
      let thrown: unknown
      try {
        cipher[direction]([{ value: 1n, domain: 10n ** 7n }, rank])
      } catch (error) {
        thrown = error
      }
      expect(isVaultError(thrown, 'internal')).toBe(true)
      expect(String(thrown)).not.toContain('1234567')
    }
  }
  expect(cipher.encrypt([])).toEqual([])
})
