/** Opening bodies of many epochs: the work for each does not depend on how many there are. */
import type * as crypto from 'node:crypto'
import { expect, it, vi } from 'vitest'
import { keyRingFactory } from '../../../src/adapters/keys/key-ring-factory.ts'
import { toSlab } from '../../../src/core/util/memory.ts'
import { seededBytes } from './seeded-bytes.ts'

const HEADER = Uint8Array.from([1, 0, 1])
const EPOCHS = 1000
const created = { ciphers: 0 }

// The real ciphers, counted.
vi.mock('node:crypto', async (original) => {
  const real = await original<typeof crypto>()
  return {
    ...real,
    createCipheriv: (...given: Parameters<typeof real.createCipheriv>) => {
      created.ciphers++
      return real.createCipheriv(...given)
    },
  }
})

/** A body of each of 1,000 writers with one key, as many short-lived processes leave them, `times` times in turn. */
function bodiesOfManyWriters(key: Uint8Array, length: number, times: number) {
  const bodies = Array.from({ length: EPOCHS }, () => {
    const writer = keyRingFactory.createRing('vault', [{ version: 1, key }])
    return writer.seal('records', HEADER, toSlab([new Uint8Array(length)]), new Uint8Array(32)).bytes
  })
  const count = EPOCHS * times
  return { count, bodies: toSlab(Array.from({ length: times }, () => bodies).flat()), associatedData: new Uint8Array(32 * count) }
}

it.each([
  [40, 'short'],
  [400, 'longer'],
])('bodies of 1,000 epochs, of %i bytes each, create no cipher of the platform', (length) => {
  const key = seededBytes('epochs 1').bytes(32)
  const { count, bodies, associatedData } = bodiesOfManyWriters(key, length, 1)
  const ring = keyRingFactory.createRing('vault', [{ version: 1, key }])
  created.ciphers = 0
  const { opened } = ring.open('records', 3, new Uint16Array(count).fill(1), bodies, associatedData)
  expect(opened.every((flag) => flag === 1)).toBe(true)
  expect(created.ciphers).toBe(0)
})

it('an epoch whose bodies come in turn with those of 999 others is derived once for the list', () => {
  const key = seededBytes('epochs 2').bytes(32)
  // Thirty bodies of an epoch need enough blocks for a cipher of their own: one for each key that is derived.
  const { count, bodies, associatedData } = bodiesOfManyWriters(key, 100, 30)
  const ring = keyRingFactory.createRing('vault', [{ version: 1, key }])
  created.ciphers = 0
  const { opened } = ring.open('records', 3, new Uint16Array(count).fill(1), bodies, associatedData)
  expect(opened.every((flag) => flag === 1)).toBe(true)
  expect(created.ciphers).toBe(EPOCHS)
})

it('the bodies of one epoch share one cipher', () => {
  const key = seededBytes('epochs 3').bytes(32)
  const ring = keyRingFactory.createRing('vault', [{ version: 1, key }])
  const plaintexts = toSlab(Array.from({ length: EPOCHS }, () => new Uint8Array(100)))
  created.ciphers = 0
  const bodies = ring.seal('records', HEADER, plaintexts, new Uint8Array(32 * EPOCHS))
  ring.open('records', 3, new Uint16Array(EPOCHS).fill(1), bodies, new Uint8Array(32 * EPOCHS))
  expect(created.ciphers).toBe(2)
})
