/** Epochs of nonces: one first half for an hour or 2^32 seals, whichever ends first. */
import { expect, it } from 'vitest'
import { createEpochs } from '../../../src/adapters/keys/epoch.ts'
import { createRandomPool } from '../../../src/adapters/keys/random-pool.ts'
import { createXaesKey } from '../../../src/adapters/keys/xaes-key.ts'

const HOUR = 60 * 60 * 1000

function epochsAt(moments: { now: number }): (count: number) => string {
  const epochs = createEpochs(createXaesKey(new Uint8Array(32)), { pool: createRandomPool(), now: () => moments.now })
  return (count) => Buffer.from(epochs(count).half).toString('hex')
}

it('an epoch lasts an hour', () => {
  const moments = { now: 5 }
  const half = epochsAt(moments)
  const first = half(1)
  moments.now += HOUR - 1
  expect(half(1)).toBe(first)
  moments.now += 1
  expect(half(1)).not.toBe(first)
})

it('an epoch covers at most 2^32 seals, and each call lies in one epoch', () => {
  const half = epochsAt({ now: 0 })
  const first = half(2 ** 32 - 10)
  expect(half(10)).toBe(first)
  const second = half(11)
  expect(second).not.toBe(first)
  expect(half(2 ** 32 - 11)).toBe(second)
  expect(half(1)).not.toBe(second)
})

it('the random pool returns no bytes twice, within a fill and over several', () => {
  const pool = createRandomPool()
  const seen = new Set<string>()
  const sizes = [12, 12, 24, 3072, 3073, 12, 6144, 7000]
  let blocks = 0
  for (let round = 0; round < 300; round++) {
    const target = new Uint8Array(sizes[round % sizes.length] ?? 12)
    pool.fill(target, 0, target.length)
    for (let at = 0; at + 12 <= target.length; at += 12, blocks++)
      seen.add(Buffer.from(target.subarray(at, at + 12)).toString('hex'))
  }
  expect(seen.size).toBe(blocks)
})
