/** Few bytes share memory, and none with each other. */
import { expect, it } from 'vitest'
import { fewBytes } from '../../../src/core/util/few-bytes.ts'

it('gives zeros of every length, which no other call gets', () => {
  const given = Array.from({ length: 2000 }, (_, at) => fewBytes(at % 300))
  for (const [at, bytes] of given.entries()) {
    expect(bytes).toEqual(new Uint8Array(at % 300))
    bytes.fill((at % 255) + 1)
  }
  for (const [at, bytes] of given.entries()) expect(bytes.every((byte) => byte === (at % 255) + 1)).toBe(true)
})

it('gives long bytes memory of their own', () => {
  const bytes = fewBytes(5000)
  expect(bytes.buffer.byteLength).toBe(bytes.length)
})
