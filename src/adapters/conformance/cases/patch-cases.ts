/** Clause P: a patch applies only to its version, changes only its columns, and is not lost in a race. */

import type { PhysicalTable, Storage } from '../../../core/ports/storage.ts'
import { assert, assertEqual } from '../assert.ts'
import { numbers, rowOf, rowsWithIds, THINGS } from '../sample.ts'
import { type StorageCase, storageCase } from '../storage-case.ts'

const COUNTERS: PhysicalTable = {
  name: 'counters',
  columns: numbers(0, 8).map((each) => ({ name: `c${each}`, type: 'integer' })),
  indexes: [],
}

/** Adds one to a cell, reading again until the patch applies. */
async function increment(storage: Storage, column: string): Promise<void> {
  for (;;) {
    const row = await rowOf(storage, 'counters', 1)
    const [applied] = await storage.update('counters', [
      { id: 1, version: row.version, set: { [column]: Number(row[column] ?? 0) + 1 } },
    ])
    if (applied === true) return
  }
}

export const patchCases: readonly StorageCase[] = [
  storageCase('P1 a patch changes the columns it names and raises the version by one', [THINGS], async ({ storage }) => {
    const b = new Uint8Array([9])
    await storage.insert('things', [{ id: 1, n: 1, r: 0.5, t: 'old', b }])
    assertEqual(await storage.update('things', [{ id: 1, version: 1, set: { t: 'new' } }]), [true])
    assertEqual(await rowOf(storage, 'things', 1), { id: 1, version: 2, n: 1, r: 0.5, t: 'new', b })
  }),
  storageCase('P2 a patch of another version returns false and changes nothing', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 1, n: 1 }])
    await storage.update('things', [{ id: 1, version: 1, set: { n: 2 } }])
    assertEqual(await storage.update('things', [{ id: 1, version: 1, set: { n: 3 } }]), [false])
    assertEqual(await storage.update('things', [{ id: 1, version: 3, set: { n: 3 } }]), [false])
    const row = await rowOf(storage, 'things', 1)
    assertEqual([row.version, row.n], [2, 2])
  }),
  storageCase('P3 a patch can set null', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 1, n: 1, r: 1.5, t: 'x', b: new Uint8Array([1]) }])
    await storage.update('things', [{ id: 1, version: 1, set: { n: null, r: null, t: null, b: null } }])
    assertEqual(await rowOf(storage, 'things', 1), { id: 1, version: 2, n: null, r: null, t: null, b: null })
  }),
  storageCase('P4 a patch that names no column raises the version', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 1, t: 'x' }])
    assertEqual(await storage.update('things', [{ id: 1, version: 1, set: {} }]), [true])
    const row = await rowOf(storage, 'things', 1)
    assertEqual([row.version, row.t], [2, 'x'])
  }),
  storageCase('P5 patches of one list may name different columns and values', [THINGS], async ({ storage }) => {
    await storage.insert('things', rowsWithIds([1, 2, 3, 4]))
    const applied = await storage.update('things', [
      { id: 3, version: 1, set: { t: 'three' } },
      { id: 1, version: 1, set: { n: 1, r: 0.25 } },
      { id: 2, version: 9, set: { n: 2 } },
      { id: 4, version: 1, set: { b: new Uint8Array([4]), t: null } },
    ])
    assertEqual(applied, [true, true, false, true])
    const rows = await storage.get('things', [1, 2, 3, 4])
    assertEqual(rows, [
      { id: 1, version: 2, n: 1, r: 0.25, t: null, b: null },
      { id: 2, version: 1, n: null, r: null, t: null, b: null },
      { id: 3, version: 2, n: null, r: null, t: 'three', b: null },
      { id: 4, version: 2, n: null, r: null, t: null, b: new Uint8Array([4]) },
    ])
  }),
  storageCase('P6 of two patches of one row and version in one list the first applies', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 1 }])
    const applied = await storage.update('things', [
      { id: 1, version: 1, set: { t: 'first' } },
      { id: 1, version: 1, set: { t: 'second', n: 2 } },
    ])
    assertEqual(applied, [true, false])
    assertEqual(await rowOf(storage, 'things', 1), { id: 1, version: 2, n: null, r: null, t: 'first', b: null })
  }),
  storageCase('P7 patches of one row in one list apply one after the other', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 1 }])
    const applied = await storage.update('things', [
      { id: 1, version: 1, set: { t: 'first', n: 1 } },
      { id: 1, version: 2, set: { t: 'second' } },
    ])
    assertEqual(applied, [true, true])
    assertEqual(await rowOf(storage, 'things', 1), { id: 1, version: 3, n: 1, r: null, t: 'second', b: null })
  }),
  storageCase('P8 a version given at insert is stored and incremented from there', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 1, version: 41 }])
    assertEqual(await storage.update('things', [{ id: 1, version: 41, set: {} }]), [true])
    assertEqual((await rowOf(storage, 'things', 1)).version, 42)
  }),
  storageCase('P9 of 64 racing patches of one version exactly one applies', [THINGS], async ({ storage, another }) => {
    await storage.insert('things', [{ id: 1 }])
    const handles = [storage, await another()]
    const applied = await Promise.all(
      numbers(0, 64).map((n) => (handles[n % 2] ?? storage).update('things', [{ id: 1, version: 1, set: { n } }])),
    )
    const winners = numbers(0, 64).filter((n) => applied[n]?.[0] === true)
    assertEqual(winners.length, 1, 'the number of winners')
    const row = await rowOf(storage, 'things', 1)
    assertEqual([row.version, row.n], [2, winners[0]])
  }),
  storageCase(
    'P10 racing patches of one row, each retried until it applies, are all applied',
    [COUNTERS],
    async ({ storage, another }) => {
      await storage.insert('counters', [{ id: 1 }])
      const handles = [storage, await another()]
      await Promise.all(numbers(0, 32).map((each) => increment(handles[each % 2] ?? storage, `c${each % 8}`)))
      const row = await rowOf(storage, 'counters', 1)
      assertEqual(row.version, 33, 'the version')
      assert(
        numbers(0, 8).every((each) => row[`c${each}`] === 4),
        'every column should have been raised four times',
      )
    },
  ),
]
