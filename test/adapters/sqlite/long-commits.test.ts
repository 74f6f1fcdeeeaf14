/** Commits of many rows: stored whole or not at all, and others see all of them or none. */
import { expect, it } from 'vitest'
import type { NewRow } from '../../../src/core/ports/storage.ts'
import { commitsInLog, withStorage } from './notes-storage.ts'

const COUNT = 5_001
const notes = (from: number): NewRow[] =>
  Array.from({ length: COUNT }, (_, index) => ({ id: from + index, label: `note ${from + index}` }))
const head = (version: number) => ({ table: 'notes', patches: [{ id: 1, version, set: { label: `head ${version}` } }] })
const COUNTED = [{ kind: 'count' }] as const

it('stores all rows and the patch in one commit, and others see all or nothing', async () => {
  await withStorage(async (storage, filename) => {
    await storage.insert('notes', [{ id: 1, label: 'head' }])
    const before = commitsInLog(filename)
    const seen = new Set<unknown>()
    const stored = storage.commit({ updates: [head(1)], inserts: [{ table: 'notes', rows: notes(10) }] })
    let isOver = false
    stored.finally(() => {
      isOver = true
    })
    // The commit takes no turn itself. It can begin in a later one.
    while (!isOver) {
      seen.add((await storage.aggregate('notes', { kind: 'all' }, COUNTED))[0])
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(await stored).toBe(true)
    expect([...seen].every((count) => count === 1 || count === COUNT + 1)).toBe(true)
    expect(commitsInLog(filename) - before).toBe(1)
    expect(await storage.get('notes', [1, 10, 9 + COUNT])).toMatchObject([
      { label: 'head 1' },
      { label: 'note 10' },
      { label: `note ${9 + COUNT}` },
    ])
  })
})

it('names the row in conflict by its place in the whole list, and leaves nothing behind', async () => {
  await withStorage(async (storage) => {
    await storage.insert('notes', [{ id: 1, label: 'head' }])
    for (const index of [0, 3_998, 3_999, 4_000, 4_321, COUNT - 1]) {
      const rows = notes(10).map((row, place) => (place === index ? { ...row, id: 1 } : row))
      const first = { table: 'notes', rows: [{ id: 9, label: 'first' }] }
      const commit = storage.commit({ updates: [head(1)], inserts: [first, { table: 'notes', rows }] })
      await expect(commit).rejects.toMatchObject({ code: 'conflict', details: [{ table: 'notes', index }] })
      expect(await storage.aggregate('notes', { kind: 'all' }, COUNTED)).toEqual([1])
    }
    expect(await storage.commit({ updates: [head(2)], inserts: [{ table: 'notes', rows: notes(10) }] })).toBe(false)
    expect(await storage.aggregate('notes', { kind: 'all' }, COUNTED)).toEqual([1])
    expect(await storage.get('notes', [1])).toMatchObject([{ label: 'head', version: 1 }])
  })
})

it('keeps writers waiting until it ends, and each is stored or fails by itself', async () => {
  await withStorage(async (storage) => {
    await storage.insert('notes', [{ id: 1, label: 'head' }])
    const ends = await Promise.allSettled([
      storage.commit({ updates: [head(1)], inserts: [{ table: 'notes', rows: notes(10) }] }),
      storage.insert('notes', [{ id: 7_000, label: 'beside' }]),
      storage.commit({ updates: [], inserts: [{ table: 'notes', rows: notes(2_000) }] }),
      storage.commit({ updates: [head(2)], inserts: [{ table: 'notes', rows: notes(20_000) }] }),
      storage.transaction((inner) => inner.insert('notes', [{ id: 8_000, label: 'after' }])),
    ])
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
    expect(await storage.aggregate('notes', { kind: 'all' }, COUNTED)).toEqual([2 * COUNT + 3])
  })
})
