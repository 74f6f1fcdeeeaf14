/** Faults below SQLite: files that are deleted or replaced, a file that stays held, and a disk that is full and then is not. */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync, statfsSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, describe, expect, it } from 'vitest'
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import { mapSqliteError } from '../../../src/adapters/sqlite/sqlite-errors.ts'
import { BUSY_TIMEOUT_MS, createRetryWhileBusy } from '../../../src/adapters/sqlite/writer.ts'
import { isVaultError } from '../../../src/core/errors.ts'
import { column } from '../../../src/index.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'
import { NOTES } from './notes-table.ts'
import { temporaryFolder } from './temporary-folder.ts'

const nextFile = temporaryFolder()

// Windows refuses to delete a file that is open.
describe.skipIf(process.platform === 'win32')('a file that was deleted or replaced while it was open', () => {
  const faults: Readonly<Record<string, (filename: string) => void>> = {
    'the database is deleted': (filename) => unlinkSync(filename),
    'the database is replaced by a copy': (filename) => {
      copyFileSync(filename, `${filename}.copy`)
      unlinkSync(filename)
      copyFileSync(`${filename}.copy`, filename)
    },
    'the log of commits is deleted': (filename) => unlinkSync(`${filename}-wal`),
    'the index of that log is deleted': (filename) => unlinkSync(`${filename}-shm`),
  }

  it.each(Object.entries(faults))('acknowledges nothing: %s', async (_, fault) => {
    const filename = nextFile()
    const storage = sqliteStorage({ filename })
    await storage.prepare([NOTES])
    await storage.insert('notes', [{ id: 1, label: 'before' }])
    fault(filename)
    await expect(storage.insert('notes', [{ id: 2, label: 'after' }])).rejects.toMatchObject({ code: 'outcome_unknown' })
    for (const call of [
      () => storage.insert('notes', [{ id: 3, label: 'later' }]),
      () => storage.get('notes', [1]),
      () => storage.find('notes', { kind: 'all' }, { order: 'asc', limit: 10_000 }),
      () => storage.transaction(async () => {}),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: 'unavailable', message: expect.stringContaining('Restore it') })
    }
    await storage.close()
  })

  it('fails every operation of a vault, and a new vault opens the restored file', async () => {
    const filename = nextFile()
    const { vault } = await openLoose(sqliteStorage({ filename }), { notes: { text: column.string({}) } })
    const { records } = await vault.as(OWNER).insert('notes', [{ fields: { text: 'kept' } }])
    await vault.close()
    const opened = await openLoose(sqliteStorage({ filename }), { notes: { text: column.string({}) } })
    copyFileSync(filename, `${filename}.backup`)
    unlinkSync(filename)
    const owner = opened.vault.as(OWNER)
    await expect(owner.insert('notes', [{ fields: { text: 'lost' } }])).rejects.toThrow(/deleted or replaced/)
    await expect(owner.get('notes')).rejects.toThrow(/deleted or replaced/)
    await opened.vault.close().catch(() => {})
    copyFileSync(`${filename}.backup`, filename)
    const again = await openLoose(sqliteStorage({ filename }), { notes: { text: column.string({}) } })
    expect((await again.vault.as(OWNER).get('notes')).records.map(({ id }) => id)).toEqual(records.map(({ id }) => id))
    expect(await again.vault.verifyAudit()).toMatchObject({ ok: true })
    await again.vault.close()
  })
})

describe('a file that another connection holds', () => {
  it('is waited for once: what follows a wait that failed is tried once, and a new hold is waited for again', async () => {
    const filename = nextFile()
    const holder = new Database(filename)
    holder.pragma('journal_mode = wal')
    holder.exec('begin immediate')
    const writer = new Database(filename, { timeout: 0 })
    let now = 0
    let pauses = 0
    const retryWhileBusy = createRetryWhileBusy({
      now: () => now,
      async pause(ms) {
        pauses++
        now += ms
      },
    })
    let attempts = 0
    const begin = async (): Promise<void> =>
      retryWhileBusy(() => {
        attempts++
        try {
          writer.exec('begin immediate')
        } catch (error) {
          throw mapSqliteError(error, undefined)
        }
      })
    await expect(begin()).rejects.toMatchObject({ code: 'unavailable' })
    expect(now).toBeGreaterThanOrEqual(BUSY_TIMEOUT_MS)
    expect(now).toBeLessThan(BUSY_TIMEOUT_MS + 20)
    const [attemptsOfWait, pausesOfWait] = [attempts, pauses]
    expect(attemptsOfWait).toBe(pausesOfWait + 1)
    // The event of the operation that failed.
    await expect(begin()).rejects.toMatchObject({ code: 'unavailable' })
    expect([attempts, pauses]).toEqual([attemptsOfWait + 1, pausesOfWait])
    // A minute later the file may have been free in between.
    now += 60_000
    const from = now
    await expect(begin()).rejects.toMatchObject({ code: 'unavailable' })
    expect(now - from).toBeGreaterThanOrEqual(BUSY_TIMEOUT_MS)
    holder.exec('rollback')
    await begin()
    writer.exec('rollback')
    holder.exec('begin immediate')
    const held = now
    await expect(begin()).rejects.toMatchObject({ code: 'unavailable' })
    expect(now - held).toBeGreaterThanOrEqual(BUSY_TIMEOUT_MS)
    holder.close()
    writer.close()
  })
})

/** A file system of 6 MB of its own; undefined where this process may not mount one. */
function smallDisk(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-small-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', folder], { stdio: 'ignore' })
    return folder
  } catch {
    rmSync(folder, { recursive: true })
    return undefined
  }
}

const disk = smallDisk()
const FULL = { code: 'storage_full', httpStatus: 500, grpcCode: 8 }

describe.skipIf(disk === undefined)('a full disk (a tmpfs of 6 MB; skipped where none can be mounted)', () => {
  const folder = disk ?? ''
  afterAll(() => {
    if (disk === undefined) return
    execFileSync('umount', [folder])
    rmSync(folder, { recursive: true })
  })
  const ballast = join(folder, 'ballast')

  /** Fills the disk to the last byte. */
  function fill(): void {
    for (let size = 8_000_000, n = 0; size >= 1; ) {
      try {
        writeFileSync(`${ballast}${n++}`, new Uint8Array(size))
      } catch {
        rmSync(`${ballast}${n - 1}`, { force: true })
        size = Math.floor(size / 2)
      }
      if (n > 60) break
    }
    expect(statfsSync(folder).bavail).toBe(0)
  }

  function free(): void {
    for (let n = 0; n <= 61; n++) rmSync(`${ballast}${n}`, { force: true })
  }

  it('answers storage_full each time, keeps what was acknowledged, and recovers when there is space again', async () => {
    const storage = sqliteStorage({ filename: join(folder, 'storage.db') })
    await storage.prepare([NOTES])
    await storage.insert('notes', [{ id: 1, label: 'kept', body: new Uint8Array(10_000) }])
    fill()
    let id = 2
    const codes = new Set<unknown>()
    for (let n = 0; n < 30; n++) {
      const size = n % 2 === 0 ? 500_000 : 10
      const body = new Uint8Array(size)
      const call =
        n % 3 === 0
          ? storage.transaction((inner) => inner.insert('notes', [{ id: id++, label: `l${id}`, body }]))
          : storage.insert('notes', [{ id: id++, label: `l${id}`, body }])
      // What the log has space for is stored: space it has from before, without growing.
      await call.catch((error: unknown) => codes.add(isVaultError(error) ? error.code : error))
    }
    expect([...codes]).toEqual(['storage_full'])
    expect((await storage.get('notes', [1]))[0]).toMatchObject({ label: 'kept' })
    expect(() => sqliteStorage({ filename: join(folder, 'another.db') })).toThrow(
      expect.objectContaining({ code: 'storage_full' }),
    )
    free()
    await storage.insert('notes', [{ id: 1000, label: 'after', body: new Uint8Array(500_000) }])
    await storage.close()
  })

  it('fails reads too while their events cannot be stored, and both recover without opening the vault again', async () => {
    const { vault } = await openLoose(sqliteStorage({ filename: join(folder, 'vault.db') }), {
      notes: { text: column.string({}) },
    })
    const owner = vault.as(OWNER)
    const { records } = await owner.insert('notes', [{ fields: { text: 'kept' } }])
    const id = records[0]?.id ?? ''
    fill()
    for (let n = 0; n < 5; n++) {
      await expect(owner.insert('notes', [{ fields: { text: 'x'.repeat(500_000) } }])).rejects.toMatchObject(FULL)
      await expect(owner.getOne('notes', id)).rejects.toMatchObject(FULL)
      await expect(owner.delete('notes', [id])).rejects.toMatchObject(FULL)
    }
    free()
    expect(await owner.getOne('notes', id)).toMatchObject({ id })
    await owner.insert('notes', [{ fields: { text: 'after' } }])
    expect(await vault.verifyAudit()).toMatchObject({ ok: true })
    await vault.close()
  })
})
