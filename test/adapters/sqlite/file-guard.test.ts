/** The file guard looks at the folder alone while that is unchanged, and misses no file that is deleted, moved or replaced. */
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { createFileGuard } from '../../../src/adapters/sqlite/connection.ts'

const root = mkdtempSync(join(tmpdir(), 'strongroom-guard-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const SUFFIXES = ['', '-wal', '-shm'] as const
/** Far enough ahead for a folder to count as unchanged for long. */
const LATER = () => Date.now() + 3_600_000

let folders = 0

/** A folder with the three files of a database, made in an earlier tick of the clock of the file system than what follows. */
function openFiles(): { readonly folder: string; readonly filename: string } {
  const folder = join(root, `folder-${++folders}`)
  mkdirSync(folder)
  const filename = join(folder, 'vault.db')
  for (const suffix of SUFFIXES) writeFileSync(`${filename}${suffix}`, suffix)
  const { ctimeMs } = statSync(folder)
  const clock = join(root, 'clock')
  do writeFileSync(clock, String(Math.random()))
  while (statSync(clock).ctimeMs <= ctimeMs + 20)
  return { folder, filename }
}

const faults: Readonly<Record<string, (name: string) => void>> = {
  deleted: (name) => rmSync(name),
  'moved away': (name) => renameSync(name, `${name}.moved`),
  'replaced by a copy': (name) => {
    copyFileSync(name, `${name}.copy`)
    renameSync(`${name}.copy`, name)
  },
  'deleted and made again': (name) => {
    // A new file can take the inode of a deleted one, so the old one stays elsewhere.
    renameSync(name, join(root, `kept-${folders}-${statSync(name).ino}`))
    writeFileSync(name, 'other')
  },
}

describe.skipIf(process.platform === 'win32')('the file guard', () => {
  for (const [clock, now] of [
    ['unchanged for long', LATER],
    ['changed just now', Date.now],
  ] as const) {
    for (const suffix of SUFFIXES) {
      it.each(Object.entries(faults))(`notices that vault.db${suffix} was %s, in a folder ${clock}`, (_, fault) => {
        const { filename } = openFiles()
        const guard = createFileGuard(filename, now)
        for (let commits = 0; commits < 3; commits++) guard.assertSame()
        guard.assertPresent()
        fault(`${filename}${suffix}`)
        expect(() => guard.assertSame()).toThrow(expect.objectContaining({ code: 'outcome_unknown' }))
        expect(() => guard.assertPresent()).toThrow(expect.objectContaining({ code: 'unavailable' }))
        expect(() => guard.assertSame()).toThrow(expect.objectContaining({ code: 'outcome_unknown' }))
      })
    }

    it(`notices a file that was replaced where the files are opened once more, ${clock}`, () => {
      const { filename } = openFiles()
      const guard = createFileGuard(filename, now)
      for (let scanners = 0; scanners < 3; scanners++) guard.assertInPlace()
      rmSync(filename)
      expect(() => guard.assertInPlace()).toThrow(expect.objectContaining({ code: 'unavailable' }))
      expect(() => guard.assertPresent()).toThrow(expect.objectContaining({ code: 'unavailable' }))
      expect(() => guard.assertSame()).toThrow(expect.objectContaining({ code: 'outcome_unknown' }))
    })

    it(`notices a folder that was replaced, ${clock}`, () => {
      const { folder, filename } = openFiles()
      const guard = createFileGuard(filename, now)
      guard.assertSame()
      renameSync(folder, `${folder}.moved`)
      cpSync(`${folder}.moved`, folder, { recursive: true, preserveTimestamps: true })
      expect(() => guard.assertSame()).toThrow(expect.objectContaining({ code: 'outcome_unknown' }))
    })

    it(`notices that the files cannot be looked at, ${clock}`, () => {
      const { folder, filename } = openFiles()
      const guard = createFileGuard(filename, now)
      guard.assertSame()
      renameSync(folder, `${folder}.moved`)
      // Looking at a link to itself fails, with an error of the system.
      symlinkSync(folder, folder)
      expect(() => guard.assertSame()).toThrow(expect.objectContaining({ code: 'outcome_unknown' }))
      expect(() => guard.assertPresent()).toThrow(expect.objectContaining({ code: 'unavailable' }))
    })

    it(`accepts other files that come and go in the folder, ${clock}`, () => {
      const { folder, filename } = openFiles()
      const guard = createFileGuard(filename, now)
      guard.assertSame()
      writeFileSync(join(folder, 'other'), 'other')
      guard.assertSame()
      rmSync(join(folder, 'other'))
      guard.assertSame()
      guard.assertPresent()
    })
  }
})
