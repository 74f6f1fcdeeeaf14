/** The smallest domain, whole: too long for each form of the module. */
import { expect, it } from 'vitest'
import { rankCipherOf } from './implementations.ts'

it('the smallest domain encrypts to a permutation of itself', () => {
  const domain = 1_000_000n
  const cipher = rankCipherOf(new Uint8Array(32).fill(6), 'vault')
  const seen = new Uint8Array(Number(domain))
  for (const image of cipher.encrypt(Array.from({ length: Number(domain) }, (_, i) => ({ value: BigInt(i), domain })))) {
    seen[Number(image)] = (seen[Number(image)] ?? 0) + 1
  }
  expect(seen.every((count) => count === 1)).toBe(true)
})
