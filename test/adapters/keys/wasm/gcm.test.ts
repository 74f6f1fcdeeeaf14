/** AES-256-GCM, batched: equality with the platform's own cipher. */
import { expect, it } from 'vitest'
import { batchedSealing, platformSeal } from '../../../laws/batched-sealing.ts'
import { itHolds } from '../../../support/laws/it-holds.ts'
import { type GcmCase, openCases, sealCases } from '../gcm-cases.ts'
import { toHex } from '../read-vectors.ts'
import { seededBytes } from '../seeded-bytes.ts'

const SEED = 'gcm property 1'

itHolds(batchedSealing)

it('associated data of lengths 0 to 100 gives the tag of the platform', () => {
  const random = seededBytes(SEED)
  const secret = random.bytes(32)
  for (let length = 0; length <= 100; length++) {
    const cases = Array.from({ length: 3 }, () => ({
      iv: random.bytes(12),
      context: random.bytes(length),
      message: random.bytes(random.below(60)),
    }))
    expect(sealCases(secret, cases).map(toHex)).toEqual(cases.map((one) => toHex(platformSeal(secret, one))))
  }
})

it('any flipped bit of IV, ciphertext, tag or associated data fails, and other items still open', () => {
  const random = seededBytes(SEED)
  const secret = random.bytes(32)
  const cases: GcmCase[] = Array.from({ length: 3 }, () => ({
    iv: random.bytes(12),
    context: random.bytes(32),
    message: random.bytes(37),
  }))
  const sealed = sealCases(secret, cases)
  const flip = (bytes: Uint8Array, bit: number): Uint8Array =>
    bytes.map((byte, i) => (i === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte))
  const refused = (changed: readonly GcmCase[], bodies: readonly Uint8Array[]): void => {
    const opened = openCases(secret, changed, bodies)
    expect(opened[1]).toBeUndefined()
    expect([opened[0], opened[2]].map((bytes) => toHex(bytes ?? new Uint8Array()))).toEqual([
      toHex(cases[0]?.message ?? new Uint8Array()),
      toHex(cases[2]?.message ?? new Uint8Array()),
    ])
  }
  const middle = (change: (one: GcmCase) => GcmCase): GcmCase[] => cases.map((one, i) => (i === 1 ? change(one) : one))
  for (let bit = 0; bit < 53 * 8; bit++)
    refused(
      cases,
      sealed.map((body, i) => (i === 1 ? flip(body, bit) : body)),
    )
  for (let bit = 0; bit < 32 * 8; bit++)
    refused(
      middle((one) => ({ ...one, context: flip(one.context, bit) })),
      sealed,
    )
  for (let bit = 0; bit < 12 * 8; bit++)
    refused(
      middle((one) => ({ ...one, iv: flip(one.iv, bit) })),
      sealed,
    )
})

it('lists that need several runs are returned complete', () => {
  const random = seededBytes(SEED)
  const secret = random.bytes(32)
  const many = Array.from({ length: 9000 }, () => ({
    iv: random.bytes(12),
    context: random.bytes(32),
    message: random.bytes(random.below(40)),
  }))
  const large = Array.from({ length: 40 }, () => ({
    iv: random.bytes(12),
    context: random.bytes(32),
    message: random.bytes(100_000),
  }))
  for (const cases of [many, large]) {
    const sealed = sealCases(secret, cases)
    for (const at of [0, 4095, 4096, cases.length - 1].filter((index) => index < cases.length)) {
      const one = cases[at]
      expect(one && toHex(platformSeal(secret, one)) === toHex(sealed[at] ?? new Uint8Array()), `item ${at}`).toBe(true)
    }
    expect(
      openCases(secret, cases, sealed).every(
        (bytes, i) => bytes && Buffer.from(bytes).equals(cases[i]?.message ?? new Uint8Array()),
      ),
    ).toBe(true)
  }
})
