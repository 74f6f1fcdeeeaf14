/** The event loop beside the SQLite storage, whose driver answers at once: it turns, and no move of the log holds it for long. */
import { statSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { NOTES } from './notes-table.ts'
import { temporaryFolder } from './temporary-folder.ts'

const nextFile = temporaryFolder()

let filename: string
let storage: StorageHandle

beforeEach(async () => {
  filename = nextFile()
  storage = sqliteStorage({ filename })
  await storage.prepare([NOTES])
})

afterEach(() => storage.close())

describe('the event loop', () => {
  it('turns while writers come one by one', async () => {
    let turns = 0
    let isCounting = true
    const count = (): void => {
      turns++
      if (isCounting) setImmediate(count)
    }
    setImmediate(count)
    for (let id = 1; id <= 90; id++) await storage.insert('notes', [{ id, label: `note ${id}` }])
    isCounting = false
    expect(turns).toBeGreaterThanOrEqual(9)
  })

  it('turns while reads follow each other', async () => {
    await storage.insert('notes', [{ id: 1, label: 'note' }])
    let hasTurned = false
    setTimeout(() => {
      hasTurned = true
    }, 1)
    for (let reads = 0; reads < 200_000 && !hasTurned; reads++) await storage.get('notes', [1])
    expect(hasTurned).toBe(true)
  })

  it('is held for a few long rows at a time when the log is moved into the file: the log stays far below the 64 MiB that short rows collect', async () => {
    const body = new Uint8Array(1024 * 1024)
    for (let id = 1; id <= 24; id++) await storage.insert('notes', [{ id, label: `note ${id}`, body }])
    await storage.update('notes', [{ id: 1, version: 1, set: { body: new Uint8Array() } }])
    expect(statSync(`${filename}-wal`).size).toBeLessThan(8 * 1024 * 1024)
    expect((await storage.get('notes', [24]))[0]?.body).toEqual(body)
  })

  it('is held for a few long texts at a time, as for long bytes', async () => {
    await storage.prepare([{ name: 'pages', columns: [{ name: 'content', type: 'text' }], indexes: [] }])
    const content = 'x'.repeat(1024 * 1024)
    for (let id = 1; id <= 24; id++) await storage.insert('pages', [{ id, content }])
    expect(statSync(`${filename}-wal`).size).toBeLessThan(8 * 1024 * 1024)
    expect(await storage.get('pages', [24])).toEqual([{ id: 24, version: 1, content }])
  })
})
