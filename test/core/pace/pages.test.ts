/** Walks of a table, page by page, and pages of rows of unknown length: small at first, then as long in bytes as they should be. */
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { createPageSize, eachPage, type PageWalk } from '../../../src/core/pace/pace.ts'
import type { Row, Storage } from '../../../src/core/ports/storage.ts'

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

const rows = (count: number, bytes: number): Row[] =>
  Array.from({ length: count }, (_, index) => ({ id: index + 1, version: 1, body: new Uint8Array(bytes) }))

/** The sizes of pages of rows of these lengths. */
function sizesOf(lengths: readonly number[], options?: Parameters<typeof createPageSize>[0]): number[] {
  const size = createPageSize(options)
  return lengths.map((bytes) => {
    const next = size.next()
    size.read(rows(next, bytes))
    return next
  })
}

it('pages of short rows grow to the maximum, and no faster than four times', () => {
  expect(sizesOf([100, 100, 100, 100])).toEqual([16, 64, 128, 128])
  expect(sizesOf([100, 100, 100], { first: 4, max: 40 })).toEqual([4, 16, 40])
})

it('pages of long rows have a quarter of a mebibyte, and at least one row', () => {
  expect(sizesOf([0, 16 * 1024, 16 * 1024, 200_000, 200_000, 2_000_000, 2_000_000])).toEqual([16, 64, 16, 16, 1, 1, 1])
})

it('pages grow again after long rows, and an empty page changes nothing', () => {
  expect(sizesOf([200_000, 10, 10, 10, 10])).toEqual([16, 1, 4, 16, 64])
  const size = createPageSize()
  size.read([])
  expect(size.next()).toBe(16)
})
