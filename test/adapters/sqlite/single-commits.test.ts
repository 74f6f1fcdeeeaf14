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
        isStored = applied === true
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

it('single patches of changing columns set and compare their own columns, and single rows name their place in a conflict', async () => {
  await withStorage(async (storage) => {
    await storage.insert('notes', [{ id: 1, label: 'first', amount: 1 }])
    await storage.insert('notes', [{ id: 2, amount: 2 }])
    const patches = [
      { set: { label: 'second' }, expected: { amount: 1 }, isApplied: true },
      { set: { label: 'third' }, expected: { amount: 2 }, isApplied: false },
      { set: { amount: 3 }, expected: { label: 'second' }, isApplied: true },
      { set: { amount: 4 }, expected: { label: 'second', amount: 2 }, isApplied: false },
      { set: { amount: 5, label: 'fifth' }, isApplied: true },
      { set: { label: 'sixth', amount: 6 }, isApplied: true },
      { set: { amount: null }, expected: { amount: 6, label: 'sixth' }, isApplied: true },
    ]
    let version = 1
    for (const { isApplied, ...patch } of patches) {
      expect(await storage.update('notes', [{ id: 1, version, ...patch }])).toEqual([isApplied])
      if (isApplied) version++
    }
    expect(await storage.get('notes', [1])).toEqual([{ id: 1, version, label: 'sixth', amount: null, body: null }])
    const details = [{ table: 'notes', columns: ['label'], index: 0 }]
    await expect(storage.insert('notes', [{ id: 3, label: 'sixth' }])).rejects.toMatchObject({ code: 'conflict', details })
    const patch = { id: 2, version: 1, set: { label: 'sixth' } }
    await expect(storage.update('notes', [patch])).rejects.toMatchObject({ code: 'conflict', details })
    await expect(storage.update('notes', [{ ...patch, set: { size: 1 } }])).rejects.toMatchObject({ code: 'internal' })
    await expect(storage.insert('notes', [{ id: 4, size: 1 }])).rejects.toMatchObject({ code: 'internal' })
    expect(await labels(storage)).toEqual(['sixth', null])
  })
})
