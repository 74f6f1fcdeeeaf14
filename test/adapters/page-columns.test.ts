/** Pages with selected columns: only those are returned, and an unknown one is rejected. */
import { expect, it } from 'vitest'
import type { PhysicalTable, StorageHandle } from '../../src/core/ports/storage.ts'
import { onEachStorage } from '../support/storages/engines.ts'

const NOTES: PhysicalTable = {
  name: 'notes',
  columns: [
    { name: 'text', type: 'text' },
    { name: 'rank', type: 'integer' },
  ],
  indexes: [],
}
const EVERY = { kind: 'all' } as const
const UNKNOWN: readonly (readonly string[])[] = [['color'], ['text', 'color'], ['Text'], [''], ['text rank'], ['text', 'rank"']]

onEachStorage('columns of a page', (engine) => {
  async function open(): Promise<StorageHandle> {
    const storage = engine.fresh().open()
    await storage.prepare([NOTES])
    const ids = await storage.reserveIds('notes', 2)
    await storage.insert(
      'notes',
      ids.map((id, rank) => ({ id, text: `n${rank}`, rank })),
    )
    return storage
  }

  it('are the requested ones, each once, beside id and version', async () => {
    const storage = await open()
    const find = async (columns: readonly string[]) =>
      (await storage.find('notes', EVERY, { order: 'asc', limit: 1, columns })).map((row) => Object.keys(row).sort())
    expect(await find([])).toEqual([['id', 'version']])
    expect(await find(['rank'])).toEqual([['id', 'rank', 'version']])
    expect(await find(['rank', 'text', 'rank', 'id', 'version'])).toEqual([['id', 'rank', 'text', 'version']])
  })

  it('that the table does not have throw internal', async () => {
    const storage = await open()
    for (const columns of UNKNOWN) {
      const finding = storage.find('notes', EVERY, { order: 'asc', limit: 10, columns })
      await expect(finding, JSON.stringify(columns)).rejects.toMatchObject({ name: 'VaultError', code: 'internal' })
    }
  })

  it('that the table does not have throw internal in a transaction, which continues', async () => {
    const storage = await open()
    const found = await storage.transaction(async (inner) => {
      const finding = inner.find('notes', EVERY, { order: 'asc', limit: 10, columns: ['color'] })
      await expect(finding).rejects.toMatchObject({ code: 'internal' })
      return inner.find('notes', EVERY, { order: 'asc', limit: 10, columns: ['rank'] })
    })
    expect(found.map(({ rank }) => rank)).toEqual([0, 1])
  })
})
