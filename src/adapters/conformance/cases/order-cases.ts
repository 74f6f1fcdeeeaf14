/** Clause O: results are in the order of the request, rows are ordered by id, and pages are exact. */

import type { Page } from '../../../core/ports/storage.ts'
import { assertEqual } from '../assert.ts'
import { above, EVERY, equal, numbers, rowsWithIds, THINGS } from '../sample.ts'
import { type StorageCase, type StorageFixture, storageCase } from '../storage-case.ts'

/** Ids whose order as text differs from their order as numbers, up to the highest there is. */
const SCRAMBLED = [100, 9, 2 ** 48 - 1, 10, 1, 2 ** 31, 2 ** 32 + 5, 99]
const SORTED = [1, 9, 10, 99, 100, 2 ** 31, 2 ** 32 + 5, 2 ** 48 - 1]

function pageCase(name: string, page: Page, expected: readonly number[]): StorageCase {
  return storageCase(name, [THINGS], async ({ storage }) => {
    await storage.insert('things', rowsWithIds(SCRAMBLED))
    const rows = await storage.find('things', EVERY, page)
    assertEqual(
      rows.map((row) => row.id),
      expected,
      'the page',
    )
  })
}

/** Rows 1 to 10, of which the even ones have n = 1 and the odd ones n = 0. */
async function insertTen({ storage }: StorageFixture): Promise<void> {
  await storage.insert(
    'things',
    numbers(1, 10).map((id) => ({ id, n: id % 2 === 0 ? 1 : 0 })),
  )
}

export const orderCases: readonly StorageCase[] = [
  storageCase('O1 get keeps the order asked', [THINGS], async ({ storage }) => {
    await storage.insert('things', rowsWithIds(SORTED))
    const rows = await storage.get('things', SCRAMBLED)
    assertEqual(
      rows.map((row) => row?.id),
      SCRAMBLED,
    )
  }),
  storageCase('O2 get returns an id as often as it is requested', [THINGS], async ({ storage }) => {
    await storage.insert('things', rowsWithIds([1, 2]))
    const rows = await storage.get('things', [2, 1, 2, 3, 2])
    assertEqual(
      rows.map((row) => row?.id),
      [2, 1, 2, undefined, 2],
    )
  }),
  pageCase('O3 find goes up by number, not by text or insertion', { order: 'asc', limit: 100 }, SORTED),
  pageCase('O4 find goes down by number', { order: 'desc', limit: 100 }, SORTED.toReversed()),
  pageCase('O5 a page up begins beyond `after`', { order: 'asc', after: 10, limit: 2 }, [99, 100]),
  pageCase('O6 a page down begins below `after`', { order: 'desc', after: 100, limit: 2 }, [99, 10]),
  pageCase('O7 `after` need not be an id that exists', { order: 'asc', after: 50, limit: 1 }, [99]),
  pageCase('O8 `skip` passes over rows', { order: 'asc', offset: 3, limit: 2 }, [99, 100]),
  pageCase('O9 `skip` counts from `after`', { order: 'desc', after: 2 ** 31, offset: 1, limit: 2 }, [99, 10]),
  pageCase('O10 a skip beyond the end leaves nothing', { order: 'asc', offset: 8, limit: 5 }, []),
  pageCase('O11 a limit of zero gives nothing', { order: 'asc', limit: 0 }, []),
  pageCase('O12 a limit beyond the number of rows gives all', { order: 'asc', limit: Number.MAX_SAFE_INTEGER }, SORTED),
  pageCase('O13 nothing lies beyond the last id', { order: 'asc', after: 2 ** 48 - 1, limit: 5 }, []),
  storageCase('O14 skip and limit count matching rows only', [THINGS], async (fixture) => {
    await insertTen(fixture)
    const rows = await fixture.storage.find('things', equal('n', 1), { order: 'asc', after: 2, offset: 1, limit: 2 })
    assertEqual(
      rows.map((row) => row.id),
      [6, 8],
    )
  }),
  storageCase('O15 pages walked by `after` visit every row once', [THINGS], async (fixture) => {
    await insertTen(fixture)
    const visited: number[] = []
    for (let page = 0; page < 4; page++) {
      const rows = await fixture.storage.find('things', above('id', 0), { order: 'asc', after: visited.at(-1) ?? 0, limit: 3 })
      for (const { id } of rows) visited.push(id)
    }
    assertEqual(visited, numbers(1, 10))
  }),
  storageCase('O16 update returns results in the order of its patches', [THINGS], async (fixture) => {
    await insertTen(fixture)
    const patches = [9, 50, 2, 51, 5].map((id) => ({ id, version: 1, set: { n: 7 } }))
    assertEqual(await fixture.storage.update('things', patches), [true, false, true, false, true])
  }),
  storageCase('O17 delete returns the deleted ids in rising order', [THINGS], async ({ storage }) => {
    await storage.insert('things', rowsWithIds(SCRAMBLED))
    assertEqual(await storage.delete('things', { ids: [2 ** 31, 100, 9, 77] }), [9, 100, 2 ** 31])
    assertEqual(await storage.delete('things', { filter: EVERY }), [1, 10, 99, 2 ** 32 + 5, 2 ** 48 - 1])
  }),
]
