/** Epochs of nonces: one first half for an hour or 2^32 seals, whichever ends first. */
import { expect, it } from 'vitest'
import { createNonceSource, SYSTEM_GENERATORS } from '../../../src/adapters/keys/sealer.ts'
import { createEpochs, createXaesKey } from '../../../src/adapters/keys/wasm/xaes-key.ts'

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
