/** Few bytes share memory, and none with each other. */
import { expect, it } from 'vitest'
import { copyFew, createFewBytes, fewBytes, fewNumbers, plaintextBytes, withOwnMemory } from '../../../src/core/util/few-bytes.ts'

it.each([
  ['bytes', fewBytes],
  ['bytes of plaintexts', plaintextBytes],
  ['numbers', fewNumbers],
])('gives %s of every length, all zero, which no other call gets', (_, give) => {
  const given = Array.from({ length: 2000 }, (_, at) => give(at % 1100))
  for (const [at, one] of given.entries()) {
    expect(one.length).toBe(at % 1100)
    expect(one.every((value) => value === 0)).toBe(true)
    one.fill((at % 255) + 1)
  }
  for (const [at, one] of given.entries()) expect(one.every((value) => value === (at % 255) + 1)).toBe(true)
})

it.each([
  ['bytes', createFewBytes()],
  ['bytes of plaintexts', plaintextBytes],
  ['numbers', fewNumbers],
])('gives %s after their memory was transferred, also where they have no length', (_, give) => {
  for (const length of [0, 0, 3, 0, 5]) {
    const one = give(length)
    if (one.buffer instanceof ArrayBuffer) one.buffer.transfer(0)
    expect(give(0).length).toBe(0)
    expect(give(length)).toEqual(give(length))
  }
})

it('gives long bytes and lists memory of their own', () => {
  expect(fewBytes(1025).buffer.byteLength).toBe(1025)
  expect(fewNumbers(257).buffer.byteLength).toBe(4 * 257)
})

it('plaintexts share no memory with other bytes', () => {
  const others = new Set(Array.from({ length: 2000 }, () => [fewBytes(100).buffer, fewNumbers(25).buffer]).flat())
  for (let i = 0; i < 2000; i++) expect(others.has(plaintextBytes(100).buffer)).toBe(false)
})

it('a copy has the bytes, and changes with neither', () => {
  const bytes = Uint8Array.of(1, 2, 3)
  const copy = copyFew(bytes)
  bytes[0] = 9
  expect(copy).toEqual(Uint8Array.of(1, 2, 3))
})

it('bytes that share their memory are copied for an application, and no others', () => {
  const shared = fewBytes(10).fill(7)
  const own = withOwnMemory(shared)
  expect(own).toEqual(shared)
  expect(own.buffer.byteLength).toBe(10)
  expect(withOwnMemory(own)).toBe(own)
})
