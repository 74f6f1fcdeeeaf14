/** Clause R: a race for one unique key has one winner, and no id is given out twice. */

import { isVaultError } from '../../../core/errors.ts'
import type { PhysicalTable, Storage } from '../../../core/ports/storage.ts'
import { assert, assertEqual, assertRejects } from '../assert.ts'
import { EVERY, idsFound, KEYED, numbers, rowsWithIds, THINGS } from '../sample.ts'
import { type StorageCase, storageCase } from '../storage-case.ts'

/** Starts all inserts at once and returns the ids of those that succeeded; all others must be conflicts. */
async function winnersOf(count: number, insert: (id: number) => Promise<unknown>): Promise<number[]> {
  const outcomes = await Promise.allSettled(numbers(1, count).map(insert))
  for (const outcome of outcomes) {
    if (outcome.status === 'fulfilled' || isVaultError(outcome.reason, 'conflict')) continue
    throw new Error(`a loser should get a conflict and gets ${String(outcome.reason)}`)
  }
  return numbers(1, count).filter((id) => outcomes[id - 1]?.status === 'fulfilled')
}

function raceCase(name: string, insert: (storage: Storage, id: number) => Promise<unknown>): StorageCase {
  return storageCase(name, [KEYED], async ({ storage, another }) => {
    const handles = [storage, await another()]
    const winners = await winnersOf(64, (id) => insert(handles[id % 2] ?? storage, id))
    assertEqual(winners.length, 1, 'the number of winners')
    assertEqual(await idsFound(storage, 'keyed', EVERY), winners)
  })
}

/** Ids rise in the order of commits. */
const ORDERED: PhysicalTable = { name: 'ordered', columns: [], indexes: [], isOrdered: true }

export const raceCases: readonly StorageCase[] = [
  raceCase('R1 of 64 racing inserts of one text exactly one wins', (storage, id) =>
    storage.insert('keyed', [{ id, email: 'a@x' }]),
  ),
  raceCase('R2 of 64 racing inserts of one digest exactly one wins', (storage, id) =>
    storage.insert('keyed', [{ id, digest: new Uint8Array([1, 2, 3]) }]),
  ),
  raceCase('R3 of 64 racing transactions that insert one key exactly one wins', (storage, id) =>
    storage.transaction(async (inner) => {
      await inner.get('keyed', [id])
      await inner.insert('keyed', [{ id, realm: 'r', nick: 'n' }])
    }),
  ),
  storageCase('R4 racing inserts of one id give one winner', [KEYED], async ({ storage }) => {
    const winners = await winnersOf(16, (number) => storage.insert('keyed', [{ id: 1, number }]))
    assertEqual(winners.length, 1, 'the number of winners')
  }),
  storageCase('R5 racing patches to one unique value give one winner', [KEYED], async ({ storage }) => {
    await storage.insert(
      'keyed',
      numbers(1, 16).map((id) => ({ id })),
    )
    const winners = await winnersOf(16, (id) => storage.update('keyed', [{ id, version: 1, set: { email: 'a@x' } }]))
    assertEqual(winners.length, 1, 'the number of winners')
  }),
  storageCase(
    'R6 ids reserved at once, through several handles, are all different and rise',
    [THINGS],
    async ({ storage, another }) => {
      const handles = [storage, await another()]
      const lists = await Promise.all(numbers(1, 64).map((count) => (handles[count % 2] ?? storage).reserveIds('things', count)))
      for (const [at, list] of lists.entries()) {
        assertEqual(list.length, at + 1)
        assert(
          list.every((id, place) => Number.isSafeInteger(id) && id > (list[place - 1] ?? 0) && id < 2 ** 48),
          'ids should be positive, whole, rising, below 2^48',
        )
      }
      assertEqual(new Set(lists.flat()).size, (64 * 65) / 2, 'the number of different ids')
    },
  ),
  storageCase(
    'R7 ids are not given again after their rows are gone, nor by another handle',
    [THINGS],
    async ({ storage, another }) => {
      const first = await storage.reserveIds('things', 5)
      await storage.insert(
        'things',
        first.map((id) => ({ id })),
      )
      await storage.delete('things', { filter: EVERY })
      const second = await storage.reserveIds('things', 5)
      const third = await (await another()).reserveIds('things', 5)
      assertEqual(new Set([...first, ...second, ...third]).size, 15)
    },
  ),
  storageCase('R8 ids of one table say nothing of another', [THINGS, KEYED], async ({ storage }) => {
    const ids = await storage.reserveIds('things', 3)
    const others = await storage.reserveIds('keyed', 3)
    await storage.insert('things', [...ids].map((id) => ({ id }))) // biome-ignore format: one line
    await storage.insert('keyed', [...others].map((id) => ({ id }))) // biome-ignore format: one line
    assertEqual(await idsFound(storage, 'keyed', EVERY), others)
  }),
  storageCase(
    'R9 ids of an ordered table rise in the order of commits, where transactions are serial',
    [ORDERED],
    async ({ storage }) => {
      if (storage.transactions === 'concurrent') return
      const [early = 0, other = 0] = await storage.reserveIds('ordered', 2)
      const [late = 0] = await storage.reserveIds('ordered', 1)
      await storage.insert('ordered', rowsWithIds([late, other]))
      const error = await assertRejects(storage.insert('ordered', rowsWithIds([early])), 'conflict', 'an early id')
      assertEqual(error.details[0]?.columns, ['id'])
      const changes = { updates: [], inserts: [{ table: 'ordered', rows: rowsWithIds([early]) }] }
      await assertRejects(storage.commit(changes), 'conflict', 'an early id in a commit')
      const inside = await storage.transaction(async (inner) => {
        const ids = await inner.reserveIds('ordered', 3)
        for (const id of [...ids].reverse()) await inner.insert('ordered', rowsWithIds([id]))
        return ids
      })
      assertEqual(await idsFound(storage, 'ordered', EVERY), [other, late, ...inside])
    },
  ),
]
