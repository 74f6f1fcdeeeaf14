/** The derived keys of XAES-256-GCM: their cache, and what is left of them. */
import { expect, it } from 'vitest'
import { createXaesKey, MAX_DERIVED } from '../../../src/adapters/keys/wasm/xaes-key.ts'
import { toHex } from './read-vectors.ts'
import { seededBytes } from './seeded-bytes.ts'

it('a derived key is cached, and derived again with an equal result after many others', () => {
  const random = seededBytes('xaes 1')
  const key = createXaesKey(random.bytes(32))
  const half = random.bytes(12)
  const first = key.derive(half, 0)
  const parts = [first.secret, first.schedule, first.hashTables].map(toHex)
  key.derive(random.bytes(12), 0)
  expect(key.derive(half, 0)).toBe(first)
  for (let i = 0; i < 300; i++) key.derive(random.bytes(12), 0)
  const again = key.derive(half, 0)
  expect([again.secret, again.schedule, again.hashTables].map(toHex)).toEqual(parts)
  const own = key.deriveOwn(half)
  expect(own.bytes).not.toBe(again.bytes)
  expect([own.secret, own.schedule, own.hashTables].map(toHex)).toEqual(parts)
})

it('2,000 derived keys use the memory of MAX_DERIVED, and a closed key leaves none of it', () => {
  const random = seededBytes('xaes 2')
  const key = createXaesKey(random.bytes(32))
  const used = new Set<Uint8Array>()
  for (let i = 0; i < 2000; i++) used.add(key.derive(random.bytes(12), 0).bytes)
  expect(used.size).toBe(MAX_DERIVED)
  key.close()
  for (const bytes of used) expect(bytes.every((byte) => byte === 0)).toBe(true)
})

it('a derivation that an error ends leaves no key for its half', () => {
  const random = seededBytes('xaes 3')
  const secret = random.bytes(32)
  const halves = random.bytes(24)
  const key = createXaesKey(secret)
  key.derive(halves, 0)
  // The half at 20 has four bytes, with which the error finds the cache at work.
  expect(() => key.derive(halves, 20)).toThrow('Index 24')
  const mixed = Uint8Array.from([...halves.subarray(20), ...halves.subarray(4, 12)])
  expect(toHex(key.derive(mixed, 0).secret)).toBe(toHex(createXaesKey(secret).derive(mixed, 0).secret))
})
