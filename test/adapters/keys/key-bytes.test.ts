/** Key derivation: HKDF as RFC 5869 defines it, with the documented labels. */
import { createHmac } from 'node:crypto'
import { expect, it } from 'vitest'
import { deriveKey } from '../../../src/adapters/keys/key-bytes.ts'
import { hex, readHkdfVectors, toHex } from './read-vectors.ts'

const vectors = readHkdfVectors()

/** HKDF written from the text of the RFC. */
function hkdf(ikm: Uint8Array, salt: Uint8Array, info: Uint8Array, length: number): Buffer {
  const pseudorandom = createHmac('sha256', salt.length === 0 ? new Uint8Array(32) : salt)
    .update(ikm)
    .digest()
  let last = Buffer.alloc(0)
  let out = Buffer.alloc(0)
  for (let counter = 1; out.length < length; counter++) {
    last = createHmac('sha256', pseudorandom).update(last).update(info).update(Uint8Array.of(counter)).digest()
    out = Buffer.concat([out, last])
  }
  return out.subarray(0, length)
}

it('the reference HKDF gives the published vectors', () => {
  for (const { ikm, salt, info, length, okm } of vectors) expect(toHex(hkdf(hex(ikm), hex(salt), hex(info), length))).toBe(okm)
})

it('each use has its documented label, with the vault id as salt', () => {
  const root = new Uint8Array(32).fill(9)
  const expected = (label: string): string => toHex(hkdf(root, Buffer.from('vault ü'), Buffer.from(label), 32))
  expect(toHex(deriveKey(root, 'vault ü', { kind: 'seal', version: 3, purpose: 'records' }))).toBe(
    expected('strongroom/v1/seal/3/records'),
  )
  expect(toHex(deriveKey(root, 'vault ü', { kind: 'digest', scope: 'cards.number' }))).toBe(
    expected('strongroom/v1/digest/cards.number'),
  )
  expect(toHex(deriveKey(root, 'vault ü', { kind: 'rank', scope: 'cards.number' }))).toBe(
    expected('strongroom/v1/rank/cards.number'),
  )
  expect(toHex(deriveKey(root, 'vault ü', { kind: 'pointer' }))).toBe(expected('strongroom/v1/pointer'))
})
