/** Ids of events that are encrypted ahead are those that each would have by itself. */
import { expect, it } from 'vitest'
import { keyRingFactory } from '../../../src/adapters/keys/key-ring-factory.ts'
import { createChangeIds } from '../../../src/core/audit-log/known-chains.ts'
import { encodeChangeIds } from '../../../src/core/barrier/record-ids.ts'
import type { KeyRing } from '../../../src/core/ports/crypto.ts'
import { MAX_ROW_ID } from '../../../src/core/ports/storage.ts'

const ROOTS = [1, 2].map((version) => ({ version, key: new Uint8Array(32).fill(version) }))
const OLD = keyRingFactory.createRing('v1', ROOTS, { activeVersion: 1, lookupVersion: 1 })
const NEW = keyRingFactory.createRing('v1', ROOTS, { activeVersion: 2, lookupVersion: 2 })

/** Chains, and the numbers of events that are appended to them, one list after the other. */
const APPENDED: readonly (readonly [chain: number, counts: readonly number[]])[] = [
  [1, [1, 1, 1, 5, 1, 60, 1, 1, 2, 200, 1, 1, 64, 63, 1]],
  [2, [1]],
  [1, [1, 1]],
  [2, [1, 1, 30, 40, 1]],
]

function neighbors(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, step) => first + step)
}

it('ids of lists of any length and of several chains are those of each event', () => {
  const changeIDsOf = createChangeIds({ ring: OLD })
  const ends = new Map<number, number>()
  for (const [chain, counts] of APPENDED) {
    for (const count of counts) {
      const rows = neighbors(ends.get(chain) ?? chain * 2 ** 32 + 1, count)
      expect(changeIDsOf(rows)).toEqual(encodeChangeIds(OLD, rows))
      ends.set(chain, (rows[0] ?? 0) + count)
    }
  }
})

it('ids that were encrypted ahead end with their key ring', () => {
  const barrier: { ring: KeyRing } = { ring: OLD }
  const changeIDsOf = createChangeIds(barrier)
  for (const row of [1, 2, 3]) changeIDsOf([row])
  barrier.ring = NEW
  for (const row of [4, 5, 6]) expect(changeIDsOf([row])).toEqual(encodeChangeIds(NEW, [row]))
})

it('the last rows of the last chain have ids, and none is made of a row after them', () => {
  const changeIDsOf = createChangeIds({ ring: OLD })
  for (let row = MAX_ROW_ID - 70; row <= MAX_ROW_ID; row++) expect(changeIDsOf([row])).toEqual(encodeChangeIds(OLD, [row]))
})

it('ids are encrypted ahead only where lists follow each other', () => {
  let lists = 0
  const counting: KeyRing = {
    ...OLD,
    encryptPointers(version, words) {
      lists++
      return OLD.encryptPointers(version, words)
    },
  }
  const changeIDsOf = createChangeIds({ ring: counting })
  for (let row = 1; row <= 64; row++) changeIDsOf([row])
  expect(lists).toBe(2)
  lists = 0
  for (let row = 100; row < 140; row += 2) changeIDsOf([row])
  expect(lists).toBe(20)
})
