/** The system's random: fresh bytes of every size in buffers of the caller's own. */
import { expect, it } from 'vitest'
import { systemEntropy } from '../../../src/adapters/system/system-entropy.ts'

it('it gives as many bytes as asked, of any size', () => {
  for (const count of [0, 1, 16, 1023, 1024, 1025, 16_384, 100_000]) expect(systemEntropy.bytes(count).length).toBe(count)
})

it('no 16 bytes ever come twice, across several fills of the pool', () => {
  const seen = new Set<string>()
  for (let i = 0; i < 5000; i++) seen.add(Buffer.from(systemEntropy.bytes(16)).toString('hex'))
  expect(seen.size).toBe(5000)
})

it('each result has a buffer of its own, and writing into it changes no other', () => {
  const first = systemEntropy.bytes(32)
  expect(first.buffer.byteLength).toBe(32)
  const second = systemEntropy.bytes(32)
  const copy = Uint8Array.from(second)
  first.fill(0)
  expect(second).toEqual(copy)
  expect(second.some((byte) => byte !== 0)).toBe(true)
})

it('every bit is set about half the time', () => {
  const bytes = systemEntropy.bytes(100_000)
  for (let bit = 0; bit < 8; bit++) {
    const ones = bytes.reduce((sum, byte) => sum + ((byte >> bit) & 1), 0)
    // 100,000 fair coins stray from 50,000 by 1,500 less than once in 10^20 runs.
    expect(Math.abs(ones - 50_000)).toBeLessThan(1500)
  }
})
