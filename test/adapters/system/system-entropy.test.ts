/** The system entropy: fresh bytes of every size, each in a separate buffer. */
import { expect, it } from 'vitest'
import { systemEntropy } from '../../../src/adapters/system/system.ts'

it('returns the requested number of bytes', () => {
  for (const count of [0, 1, 16, 1023, 1024, 1025, 16_384, 100_000]) expect(systemEntropy.bytes(count).length).toBe(count)
})

it('returns no 16 bytes twice over several fills of the pool', () => {
  const seen = new Set<string>()
  for (let i = 0; i < 5000; i++) seen.add(Buffer.from(systemEntropy.bytes(16)).toString('hex'))
  expect(seen.size).toBe(5000)
})

it('returns a separate buffer for each call', () => {
  const first = systemEntropy.bytes(32)
  expect(first.buffer.byteLength).toBe(32)
  const second = systemEntropy.bytes(32)
  const copy = Uint8Array.from(second)
  first.fill(0)
  expect(second).toEqual(copy)
  expect(second.some((byte) => byte !== 0)).toBe(true)
})

it('sets every bit in about half the results', () => {
  const bytes = systemEntropy.bytes(100_000)
  for (let bit = 0; bit < 8; bit++) {
    const ones = bytes.reduce((sum, byte) => sum + ((byte >> bit) & 1), 0)
    // 100,000 fair coins deviate from 50,000 by 1,500 less than once in 10^20 runs.
    expect(Math.abs(ones - 50_000)).toBeLessThan(1500)
  }
})
