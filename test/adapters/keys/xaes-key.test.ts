/** XAES-256-GCM: the published vectors, single and accumulated over 10,000 random messages, in both implementations. */
import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { openPlain, sealPlain } from '../../../src/adapters/keys/gcm-plain.ts'
import { createXaesKey, MAX_DERIVED } from '../../../src/adapters/keys/xaes-key.ts'
import { openCases, sealCases } from './gcm-cases.ts'
import { hex, readVectors, toHex } from './read-vectors.ts'
import { seededBytes } from './seeded-bytes.ts'

interface XaesVector {
  readonly key: string
  readonly nonce: string
  readonly aad: string
  readonly message: string
  readonly sealed: string
}

const vectors = readVectors<{ source: string; cases: readonly XaesVector[]; accumulated: { rounds: number; digest: string } }>(
  'xaes-256-gcm',
)

function seal(key: Uint8Array, nonce: Uint8Array, message: Uint8Array, context: Uint8Array): Uint8Array {
  const out = new Uint8Array(message.length + 16)
  sealPlain(createXaesKey(key).derive(nonce, 0), nonce.subarray(12), message, context, out, 0)
  return out
}

for (const [i, { key, nonce, aad, message, sealed }] of vectors.cases.entries()) {
  it(`the published vector ${i + 1} seals and opens`, () => {
    expect(toHex(seal(hex(key), hex(nonce), hex(message), hex(aad)))).toBe(sealed)
    const derived = createXaesKey(hex(key)).derive(hex(nonce), 0)
    const opened = openPlain(derived, hex(nonce.slice(24) + sealed), hex(aad))
    expect(toHex(opened ?? new Uint8Array())).toBe(message)
  })

  it(`the published vector ${i + 1} seals and opens in the module`, () => {
    const derived = createXaesKey(hex(key)).derive(hex(nonce), 0).secret
    const one = { iv: hex(nonce.slice(24)), context: hex(aad), message: hex(message) }
    expect(sealCases(derived, [one]).map(toHex)).toEqual([sealed])
    expect(openCases(derived, [one], [hex(sealed)]).map((bytes) => toHex(bytes ?? new Uint8Array()))).toEqual([message])
  })
}

it('10,000 random messages give the published digest', () => {
  const stream = createHash('shake128', { outputLength: 4_000_000 }).digest()
  let at = 0
  const read = (count: number): Uint8Array => {
    at += count
    return stream.subarray(at - count, at)
  }
  const all = createHash('shake128', { outputLength: 32 })
  for (let round = 0; round < vectors.accumulated.rounds; round++) {
    const key = read(32)
    const nonce = read(24)
    const message = read(read(1)[0] ?? 0)
    const context = read(read(1)[0] ?? 0)
    all.update(seal(key, nonce, message, context))
  }
  expect(all.digest('hex')).toBe(vectors.accumulated.digest)
})

it('a derived key is cached, and derived again with an equal result after many others', () => {
  const random = seededBytes('xaes 1')
  const key = createXaesKey(random.bytes(32))
  const half = random.bytes(12)
  const first = key.derive(half, 0)
  const parts = [first.secret, first.schedule, first.hashKey].map(toHex)
  key.derive(random.bytes(12), 0)
  expect(key.derive(half, 0)).toBe(first)
  for (let i = 0; i < 300; i++) key.derive(random.bytes(12), 0)
  const again = key.derive(half, 0)
  expect([again.secret, again.schedule, again.hashKey].map(toHex)).toEqual(parts)
  const own = key.deriveOwn(half)
  expect(own.bytes).not.toBe(again.bytes)
  expect([own.secret, own.schedule, own.hashKey].map(toHex)).toEqual(parts)
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
