/** Changes that are committed one by one: at once where they are alone, all or none, and after other processes. */
import Database from 'better-sqlite3'
import { expect, it } from 'vitest'
import type { Changes } from '../../../src/core/ports/storage.ts'
import { commitsInLog, labels, withStorage } from './notes-storage.ts'

const changesTo = (version: number, id: number, label: string): Changes => ({
  updates: [{ table: 'notes', patches: [{ id: 1, version, set: { label: `head of ${label}` } }] }],
  inserts: [{ table: 'notes', rows: [{ id, label }] }],
})

it('changes committed one by one leave nothing behind where one misses its row or conflicts, and the others are stored', async () => {
  await withStorage(async (storage, filename) => {
    await storage.insert('notes', [{ id: 1, label: 'head' }])
    const before = commitsInLog(filename)
    let version = 1
    for (let id = 2; id <= 31; id++) {
      if (id % 3 === 0) expect(await storage.commit(changesTo(version + 1, id, `note ${id}`))).toBe(false)
      else if (id % 3 === 1 && id > 4)
        await expect(storage.commit(changesTo(version, 2, `note ${id}`))).rejects.toMatchObject({ code: 'conflict' })
      else expect(await storage.commit(changesTo(version++, id, `note ${id}`))).toBe(true)
    }
    const kept = [2, 4, 5, 8, 11, 14, 17, 20, 23, 26, 29]
    expect(await labels(storage)).toEqual(['head of note 29', ...kept.map((id) => `note ${id}`)])
    expect(commitsInLog(filename) - before).toBe(kept.length)
  })
})

it('changes committed one by one wait for another process that writes, and for nothing of this one', async () => {
  await withStorage(async (storage, filename) => {
    await storage.insert('notes', [{ id: 1, label: 'head' }])
    const holder = new Database(filename)
    for (let version = 1; version <= 12; version++) {
      holder.exec('begin immediate')
      let isStored = false
      const stored = storage.commit(changesTo(version, version + 1, `note ${version}`)).then((applied) => {
        isStored = applied
      })
      await new Promise((resolve) => setImmediate(resolve))
      expect(isStored).toBe(false)
      holder.exec('rollback')
      await stored
      expect(isStored).toBe(true)
    }
    holder.close()
    expect(await labels(storage)).toHaveLength(13)
  })
})
