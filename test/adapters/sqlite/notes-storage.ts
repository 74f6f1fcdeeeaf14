/** A SQLite storage with the table of notes, what it contains, and how often it was committed. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import type { Storage, StorageHandle } from '../../../src/core/ports/storage.ts'
import { ALL, EVERY, NOTES } from './notes-table.ts'

/** Runs a test on a storage of its own, which is closed afterwards. */
export async function withStorage(body: (storage: StorageHandle, filename: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-notes-'))
  const filename = join(folder, 'vault.db')
  const storage = sqliteStorage({ filename })
  try {
    await storage.prepare([NOTES])
    await body(storage, filename)
  } finally {
    await storage.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Number of commits in the log of a file: frames with the size of the database are the last of a commit. */
export function commitsInLog(filename: string): number {
  const log = readFileSync(`${filename}-wal`)
  const frameBytes = 24 + log.readUInt32BE(8)
  let commits = 0
  for (let at = 32; at + frameBytes <= log.length; at += frameBytes) if (log.readUInt32BE(at + 4) !== 0) commits++
  return commits
}

/** The labels of all notes, in the order of their ids. */
export async function labels(storage: Storage): Promise<unknown[]> {
  return (await storage.find('notes', EVERY, ALL)).map((row) => row.label)
}
