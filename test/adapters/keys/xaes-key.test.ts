/** The derived keys of XAES-256-GCM: their cache, what is left of them, and epochs: one first half for an hour or 2^32 seals, whichever ends first. */
import { describe, expect, it } from 'vitest'
import { createNonceSource, SYSTEM_GENERATORS } from '../../../src/adapters/keys/nonces.ts'
import { createEpochs, MAX_DERIVED } from '../../../src/adapters/keys/xaes-key.ts'
import { IMPLEMENTATIONS } from './implementations.ts'
import { toHex } from './read-vectors.ts'
import { seededBytes } from './seeded-bytes.ts'

describe.each(IMPLEMENTATIONS)('$name', ({ createXaesKey }) => {
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

  const HOUR = 60 * 60 * 1000

  function epochsAt(moments: { now: number }) {
    const { fill } = createNonceSource(SYSTEM_GENERATORS)
    return createEpochs(createXaesKey(new Uint8Array(32)), { fill, now: () => moments.now })
  }

  function halvesAt(moments: { now: number }): (count: number) => string {
    const epochs = epochsAt(moments)
    return (count) => Buffer.from(epochs.next(count, 12).half).toString('hex')
  }

  it('an epoch lasts an hour', () => {
    const moments = { now: 5 }
    const half = halvesAt(moments)
    const first = half(1)
    moments.now += HOUR - 1
    expect(half(1)).toBe(first)
    moments.now += 1
    expect(half(1)).not.toBe(first)
  })

  it('an epoch covers at most 2^32 seals, and each call lies in one epoch', () => {
    const half = halvesAt({ now: 0 })
    const first = half(2 ** 32 - 10)
    expect(half(10)).toBe(first)
    const second = half(11)
    expect(second).not.toBe(first)
    expect(half(2 ** 32 - 11)).toBe(second)
    expect(half(1)).not.toBe(second)
  })

  it('the key of an epoch is wiped when the next begins, and at the end', () => {
    const moments = { now: 0 }
    const epochs = epochsAt(moments)
    const first = epochs.next(1, 12).key.bytes
    moments.now = HOUR
    const second = epochs.next(1, 12).key.bytes
    expect(first.every((byte) => byte === 0)).toBe(true)
    expect(second.some((byte) => byte !== 0)).toBe(true)
    epochs.close()
    expect(second.every((byte) => byte === 0)).toBe(true)
  })

  it('the first half of an epoch has as many random bytes as are asked for, and the others are zero', () => {
    const epochs = epochsAt({ now: 0 })
    const short = Uint8Array.from(epochs.next(1, 6).half)
    expect(short.subarray(6)).toEqual(new Uint8Array(6))
    expect(short.subarray(0, 6)).not.toEqual(new Uint8Array(6))
    expect(epochs.next(1, 6).half).toEqual(short)
    const whole = Uint8Array.from(epochs.next(1, 12).half)
    expect(whole.subarray(6)).not.toEqual(new Uint8Array(6))
    expect(epochs.next(1, 6).half.subarray(0, 6)).not.toEqual(short.subarray(0, 6))
  })
})
