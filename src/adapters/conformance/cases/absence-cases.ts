/** Clause A: what does not exist is `undefined`, null or an empty list; unknown names are refused. */

import { assert, assertEqual, assertRejects } from '../assert.ts'
import { ALL, EVERY, equal, idsFound, numbers, rowOf, rowsWithIds, THINGS } from '../sample.ts'
import { type StorageCase, storageCase } from '../storage-case.ts'

export const absenceCases: readonly StorageCase[] = [
  storageCase('A1 get returns undefined for an id that has no row', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 2, n: 5 }])
    const rows = await storage.get('things', [1, 2, 3])
    assertEqual(rows, [undefined, { id: 2, version: 1, n: 5, r: null, t: null, b: null }, undefined])
  }),
  storageCase('A2 an empty table returns nothing', [THINGS], async ({ storage }) => {
    assertEqual(await storage.get('things', [1]), [undefined])
    assertEqual(await storage.find('things', EVERY, ALL), [])
    assertEqual(await storage.delete('things', { filter: EVERY }), [])
  }),
  storageCase('A3 a row has its id, its version and every column, null where left out', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 1 }, { id: 2, t: 'x', n: null }])
    const bare = { id: 1, version: 1, n: null, r: null, t: null, b: null }
    assertEqual(await rowOf(storage, 'things', 1), bare)
    assertEqual(await storage.find('things', EVERY, ALL), [bare, { ...bare, id: 2, t: 'x' }])
  }),
  storageCase('A4 rows of one list may name different columns', [THINGS], async ({ storage }) => {
    await storage.insert('things', [
      { id: 1, n: 1 },
      { id: 2, t: 'two' },
      { id: 3, r: 0.5, n: 3 },
    ])
    const rows = await storage.find('things', EVERY, ALL)
    assertEqual(
      rows.map(({ n, r, t }) => [n, r, t]),
      [
        [1, null, null],
        [null, null, 'two'],
        [3, 0.5, null],
      ],
    )
  }),
  storageCase('A5 a patch of an absent row makes none', [THINGS], async ({ storage }) => {
    assertEqual(await storage.update('things', [{ id: 4, version: 1, set: { n: 1 } }]), [false])
    assertEqual(await storage.get('things', [4]), [undefined])
  }),
  storageCase('A6 delete leaves out ids that have no row and returns each once', [THINGS], async ({ storage }) => {
    await storage.insert('things', rowsWithIds([1, 2, 3]))
    assertEqual(await storage.delete('things', { ids: [3, 8, 1, 3] }), [1, 3])
    assertEqual(await storage.delete('things', { ids: [3, 1] }), [])
  }),
  storageCase('A7 a deleted row is gone for every reader', [THINGS], async ({ storage }) => {
    await storage.insert('things', rowsWithIds([1, 2]))
    await storage.delete('things', { ids: [1] })
    assertEqual(await storage.get('things', [1]), [undefined])
    assertEqual(await idsFound(storage, 'things', EVERY), [2])
    assertEqual(await storage.aggregate('things', EVERY, [{ kind: 'count' }]), [1])
  }),
  storageCase('A8 delete by filter takes what matches and nothing else', [THINGS], async ({ storage }) => {
    await storage.insert(
      'things',
      numbers(1, 9).map((id) => ({ id, n: id % 3 })),
    )
    assertEqual(await storage.delete('things', { filter: equal('n', 1) }), [1, 4, 7])
    assertEqual(await idsFound(storage, 'things', EVERY), [2, 3, 5, 6, 8, 9])
  }),
  storageCase('A9 a deleted id can be inserted again and begins at version 1', [THINGS], async ({ storage }) => {
    await storage.insert('things', rowsWithIds([1, 2, 3]))
    await storage.update('things', [{ id: 2, version: 1, set: { n: 1 } }])
    await storage.delete('things', { ids: [2] })
    await storage.insert('things', [{ id: 2 }])
    assertEqual((await rowOf(storage, 'things', 2)).version, 1)
    assertEqual(await idsFound(storage, 'things', EVERY), [1, 2, 3])
  }),
  storageCase('A10 tables do not mix', [THINGS, { ...THINGS, name: 'others' }], async ({ storage }) => {
    await storage.insert('things', [{ id: 1, t: 'here' }])
    await storage.insert('others', [{ id: 1, t: 'there' }])
    await storage.delete('others', { filter: EVERY })
    assertEqual((await rowOf(storage, 'things', 1)).t, 'here')
  }),
  storageCase('A11 every method refuses a table that was not prepared', [THINGS], async ({ storage }) => {
    await assertRejects(storage.reserveIds('nowhere', 1), 'internal', 'reserveIds')
    await assertRejects(storage.insert('nowhere', [{ id: 1 }]), 'internal', 'insert')
    await assertRejects(storage.get('nowhere', [1]), 'internal', 'get')
    await assertRejects(storage.find('nowhere', EVERY, ALL), 'internal', 'find')
    await assertRejects(storage.update('nowhere', [{ id: 1, version: 1, set: {} }]), 'internal', 'update')
    await assertRejects(storage.delete('nowhere', { ids: [1] }), 'internal', 'delete')
    await assertRejects(storage.aggregate('nowhere', EVERY, [{ kind: 'count' }]), 'internal', 'aggregate')
  }),
  storageCase('A12 an unknown column is refused, not ignored', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 1 }])
    await assertRejects(storage.insert('things', [{ id: 2, nothing: 1 }]), 'internal', 'insert')
    await assertRejects(storage.find('things', equal('nothing', 1), ALL), 'internal', 'find')
    await assertRejects(storage.update('things', [{ id: 1, version: 1, set: { nothing: 1 } }]), 'internal', 'update')
    await assertRejects(storage.aggregate('things', EVERY, [{ kind: 'sum', column: 'nothing' }]), 'internal', 'aggregate')
    assert((await rowOf(storage, 'things', 1)).version === 1, 'a refused patch should leave the version')
  }),
]
