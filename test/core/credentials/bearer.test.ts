/** HMAC-SHA-256 against the platform's, for keys and messages of many lengths, and its comparison. */
import { createHmac, randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { systemHash } from '../../../src/adapters/system/system.ts'
import { hmacSha256, isSameMac } from '../../../src/core/credentials/bearer.ts'

it('equals that of the platform', () => {
  for (const keyLength of [0, 1, 32, 63, 64])
    for (let length = 0; length < 200; length += 7) {
      const [key, message] = [randomBytes(keyLength), randomBytes(length)]
      const expected = createHmac('sha256', key).update(message).digest()
      expect(Buffer.from(hmacSha256(systemHash, key, message)).equals(expected)).toBe(true)
    }
})

it('refuses a key that is longer than a block', () => {
  expect(() => hmacSha256(systemHash, new Uint8Array(65), new Uint8Array(1))).toThrow(/too long/)
})

it('compares every byte', () => {
  const mac = randomBytes(32)
  expect(isSameMac(mac, Uint8Array.from(mac))).toBe(true)
  for (let i = 0; i < 32; i++) expect(isSameMac(mac, mac.with(i, (mac[i] ?? 0) ^ 1))).toBe(false)
  expect(isSameMac(mac, mac.subarray(0, 31))).toBe(false)
  expect(isSameMac(mac.subarray(0, 31), mac.subarray(0, 31))).toBe(false)
})
