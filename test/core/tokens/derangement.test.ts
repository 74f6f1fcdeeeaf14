/** Derangements: tested on all small permutations, with fixed points in every arrangement. */
import { expect, it } from 'vitest'
import { isVaultError } from '../../../src/core/errors.ts'
import type { Rank } from '../../../src/core/ports/crypto.ts'
import { decryptDeranged, encryptDeranged, type Permutation } from '../../../src/core/tokens/derangement.ts'
import { seededRandom } from '../../support/random/seeded-random.ts'

const SEED = 'derangement 1'

/** A permutation given by its images. */
function listed(images: readonly number[]): Permutation & { readonly calls: () => number } {
  let calls = 0
  const moved =
    (find: (value: number) => number) =>
    (ranks: readonly Rank[]): bigint[] => {
      calls++
      return ranks.map(({ value }) => BigInt(find(Number(value))))
    }
  return {
    encrypt: moved((value) => images[value] ?? -1),
    decrypt: moved((value) => images.indexOf(value)),
    calls: () => calls,
  }
}

function ranksBelow(domain: number): Rank[] {
  return Array.from({ length: domain }, (_, i) => ({ value: BigInt(i), domain: BigInt(domain) }))
}

/** Throws unless the images are a permutation without fixed points whose inverse is right. */
function assertDerangement(permutation: Permutation, domain: number, where: string): void {
  const ranks = ranksBelow(domain)
  const images = encryptDeranged(permutation, ranks)
  expect(new Set(images).size, where).toBe(domain)
  for (const [i, image] of images.entries()) {
    expect(image, where).not.toBe(BigInt(i))
    expect(image >= 0n && image < BigInt(domain), where).toBe(true)
  }
  const back = decryptDeranged(
    permutation,
    images.map((value) => ({ value, domain: BigInt(domain) })),
  )
  expect(back, where).toEqual(ranks.map(({ value }) => value))
}

/** Every order of 0 to count - 1. */
function allPermutations(count: number): number[][] {
  if (count === 0) return [[]]
  return allPermutations(count - 1).flatMap((shorter) =>
    Array.from({ length: count }, (_, at) => [...shorter.slice(0, at), count - 1, ...shorter.slice(at)]),
  )
}

it('makes a derangement of every permutation of two to seven numbers except the identity', () => {
  for (let count = 2; count <= 7; count++) {
    for (const images of allPermutations(count)) {
      if (images.every((image, i) => image === i)) continue
      assertDerangement(listed(images), count, images.join(' '))
    }
  }
})

it('handles runs of fixed points at the start, in the middle, at the end and around it', () => {
  const random = seededRandom(SEED)
  for (let round = 0; round < 200; round++) {
    const domain = 40
    const images = ranksBelow(domain).map(({ value }) => Number(value))
    // Few numbers move, so most are in long runs of fixed points.
    for (let swaps = 1 + Math.floor(random() * 5); swaps > 0; swaps--) {
      const [one, other] = [Math.floor(random() * domain), Math.floor(random() * domain)]
      ;[images[one], images[other]] = [images[other] ?? 0, images[one] ?? 0]
    }
    if (images.every((image, i) => image === i)) continue
    assertDerangement(listed(images), domain, `seed ${SEED}, round ${round}: ${images.join(' ')}`)
  }
})

it('keeps a permutation without fixed points, with one call to encrypt and two to decrypt', () => {
  const images = Array.from({ length: 30 }, (_, i) => (i + 7) % 30)
  const permutation = listed(images)
  expect(encryptDeranged(permutation, ranksBelow(30))).toEqual(images.map(BigInt))
  expect(permutation.calls()).toBe(1)
  decryptDeranged(permutation, ranksBelow(30))
  expect(permutation.calls()).toBe(3)
})

it('negative control: detects the rule without its second half, and the permutation itself', () => {
  const images = [1, 0, 2, 3, 5, 4]
  const naive: Permutation = {
    encrypt: (ranks) => ranks.map(({ value }) => BigInt(images[Number(value)] ?? 0)),
    decrypt: (ranks) => ranks.map(({ value }) => BigInt(images.indexOf(Number(value)))),
  }
  const images1 = naive.encrypt(ranksBelow(6)).map((image, i) => (image === BigInt(i) ? BigInt(images[i + 1] ?? 0) : image))
  expect(new Set(images1).size).toBeLessThan(6)
  expect(naive.encrypt(ranksBelow(6)).some((image, i) => image === BigInt(i))).toBe(true)
  assertDerangement(naive, 6, 'the same permutation, rightly treated')
})

it('throws internal for the identity instead of searching without end', () => {
  const still: Permutation = {
    encrypt: (ranks) => ranks.map(({ value }) => value),
    decrypt: (ranks) => ranks.map(({ value }) => value),
  }
  // 6 moves, so that its neighbor below, fixed, makes the walk begin; everything below that is fixed too.
  const almostStill: Permutation = { ...still, encrypt: (ranks) => ranks.map(({ value }) => (value === 6n ? 7n : value)) }
  const cases = [
    () => encryptDeranged(almostStill, [{ value: 6n, domain: 10n ** 9n }]),
    // Going back from 9, whose neighbor below moved, the walk goes up and finds no end.
    () =>
      decryptDeranged({ ...almostStill, decrypt: (ranks) => ranks.map(({ value }) => (value === 8n ? 1n : value)) }, [
        { value: 9n, domain: 10n ** 9n },
      ]),
  ]
  for (const attempt of cases) {
    let thrown: unknown
    try {
      attempt()
    } catch (error) {
      thrown = error
    }
    expect(isVaultError(thrown, 'internal')).toBe(true)
    expect(String(thrown)).toContain('has too many fixed points')
  }
})

it('passes tweak text and domain with every number', () => {
  const seen: Rank[] = []
  const permutation: Permutation = {
    encrypt(ranks) {
      seen.push(...ranks)
      return ranks.map(({ value, domain }) => (value + 3n) % domain)
    },
    decrypt(ranks) {
      seen.push(...ranks)
      return ranks.map(({ value, domain }) => (value - 3n + domain) % domain)
    },
  }
  encryptDeranged(permutation, [{ value: 0n, domain: 50n, tweakText: 'a' }])
  decryptDeranged(permutation, [{ value: 9n, domain: 50n, tweakText: 'a' }])
  expect(seen.map(({ value }) => value)).toEqual([0n, 49n, 9n, 5n])
  expect(seen.every(({ domain, tweakText }) => domain === 50n && tweakText === 'a')).toBe(true)
})
