/** Walks of a table, page by page. */
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { eachPage, type PageWalk } from '../../../src/core/maintenance/each-page.ts'
import type { Storage } from '../../../src/core/ports/storage.ts'

const TABLE = { name: 'things', columns: [{ name: 'n', type: 'integer' }], indexes: [] } as const

async function filled(count: number): Promise<Storage> {
  const storage = memoryStorage()
  await storage.prepare([TABLE])
  await storage.insert(
    'things',
    Array.from({ length: count }, (_, index) => ({ id: index + 1, n: index % 2 })),
  )
  return storage
}

async function idsOf(storage: Storage, walk: PageWalk): Promise<number[][]> {
  const pages: number[][] = []
  for await (const rows of eachPage(storage, 'things', walk)) pages.push(rows.map(({ id }) => id))
  return pages
}

describe('eachPage', () => {
  it.each([
    [0, 3, []],
    [2, 3, [[1, 2]]],
    [3, 3, [[1, 2, 3]]],
    [7, 3, [[1, 2, 3], [4, 5, 6], [7]]],
  ])('of %i rows by %i yields no empty page', async (count, size, pages) => {
    expect(await idsOf(await filled(count), { size })).toEqual(pages)
  })

  it('goes downwards, after an id, and through a filter', async () => {
    const storage = await filled(6)
    expect(await idsOf(storage, { size: 2, order: 'desc' })).toEqual([
      [6, 5],
      [4, 3],
      [2, 1],
    ])
    expect(await idsOf(storage, { size: 2, after: 3 })).toEqual([[4, 5], [6]])
    const even = { kind: 'compare', column: 'n', operator: '=', value: 1 } as const
    expect(await idsOf(storage, { size: 2, filter: even })).toEqual([[2, 4], [6]])
  })

  it('reads rows ahead as they are then, and none twice', async () => {
    const storage = await filled(4)
    const seen: number[] = []
    for await (const rows of eachPage(storage, 'things', { size: 2 })) {
      seen.push(...rows.map(({ id }) => id))
      await storage.delete('things', { ids: [1, 3] })
      if (seen.length < 5) await storage.insert('things', [{ id: 10 + seen.length, n: 0 }])
    }
    expect(seen).toEqual([1, 2, 4, 12, 14])
  })

  it('yields to the event loop between two pages where it has a scheduler', async () => {
    let turns = 0
    await idsOf(await filled(5), { size: 2, scheduler: { yield: async () => void turns++ } })
    expect(turns).toBe(2)
  })
})
