/** Why a file cannot be opened: each cause has its own sentence, and is `failed_precondition`, because to retry does not help. */
import { execFile } from 'node:child_process'
import { chmodSync, chownSync, copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import { builtProcess } from '../../support/cli/built-command.ts'
import { unprivilegedAccount } from '../../support/postgres/server.ts'
import { mountSmallDisk } from '../../support/postgres/small-disk.ts'
import { openDescriptors } from '../../support/trials/open-descriptors.ts'
import { temporaryFolder } from './temporary-folder.ts'

const run = promisify(execFile)
const nextFile = temporaryFolder()
const DRIVERS = ['better-sqlite3', 'node:sqlite'] as const
const SOURCE = new URL('../../../src/adapters/sqlite/index.ts', import.meta.url).href

/** Makes an empty folder. */
function nextFolder(): string {
  const folder = nextFile()
  mkdirSync(folder)
  return folder
}

/** Opens files in a process without the rights of root, and returns what it prints for each. */
async function openedByOthers(driver: string, files: readonly string[]): Promise<string[]> {
  const { uid = '', gid = '' } = unprivilegedAccount() ?? {}
  const program = builtProcess(join(import.meta.dirname, 'opening-process.ts'))
  const { stdout } = await run(process.execPath, ['--no-warnings', program, `${uid}`, `${gid}`, driver, ...files])
  return stdout.trim().split('\n')
}

describe.each(DRIVERS)('with %s', (driver) => {
  const open = (filename: string) => sqliteStorage({ filename, driver })
  const refused = (says: string) =>
    expect.objectContaining({ code: 'failed_precondition', message: expect.stringContaining(says) })

  it('a place that does not fit is named', () => {
    const folder = nextFolder()
    writeFileSync(join(folder, 'text'), '')
    symlinkSync('loop', join(folder, 'loop'))
    expect(() => open(folder)).toThrow(refused('the name is that of a folder.'))
    expect(() => open(join(folder, 'missing', 'vault.db'))).toThrow(refused('the folder of the SQLite file does not exist.'))
    expect(() => open(join(folder, 'text', 'vault.db'))).toThrow(refused('is a file, not a folder.'))
    expect(() => open(join(folder, `${'a'.repeat(300)}.db`))).toThrow(refused('is longer than the system allows.'))
    expect(() => open(join(folder, 'loop', 'vault.db'))).toThrow(refused('through symbolic links without an end.'))
    expect(() => open(join(folder, 'a\0b.db'))).toThrow(refused('has a NUL character.'))
  })

  it.skipIf(process.platform !== 'linux')('a file system that holds no files is not a full disk', () => {
    // It has no blocks, so that none of them is free.
    expect(() => open('/proc/vault.db')).toThrow(expect.objectContaining({ code: 'failed_precondition' }))
  })

  it.skipIf(process.platform === 'win32')('a device is refused before it is written to', () => {
    expect(() => open('/dev/null')).toThrow(refused('the name is that of a device, a pipe or a socket.'))
  })

  it.skipIf(process.platform !== 'linux')('a file that is no database is closed again', () => {
    const file = nextFile()
    writeFileSync(file, 'no database '.repeat(1000))
    expect(() => open(file)).toThrow(expect.objectContaining({ code: 'failed_precondition' }))
    expect(openDescriptors()).not.toContain(file)
  })

  it.skipIf(process.platform === 'win32')('a right that is missing is named', async () => {
    const [hidden, closed, readable, own] = [nextFolder(), nextFolder(), nextFolder(), nextFolder()]
    for (const folder of [closed, readable]) await open(join(folder, 'vault.db')).close()
    const account = unprivilegedAccount()
    if (account !== undefined) for (const folder of [readable, own]) chownSync(folder, account.uid, account.gid)
    chmodSync(join(readable, 'vault.db'), 0o444)
    chmodSync(closed, 0o555)
    chmodSync(hidden, 0o000)
    // The folder that holds all of these is that of this process alone.
    chmodSync(join(hidden, '..'), 0o755)
    const files = [hidden, closed, readable, own].map((folder) => join(folder, 'vault.db'))
    const printed = await openedByOthers(driver, [...files, join(closed, 'new.db')])
    chmodSync(hidden, 0o700)
    expect(printed).toEqual([
      expect.stringMatching(/^failed_precondition: .* may not look into the folder of the SQLite file\./),
      expect.stringMatching(/^failed_precondition: .* may not read and write the SQLite file,/),
      expect.stringMatching(/^failed_precondition: .* may not read and write the SQLite file,/),
      'opened',
      expect.stringMatching(/^failed_precondition: .* may not write in the folder of the SQLite file,/),
    ])
  })

  it('the driver is found where Node runs a text', async () => {
    const text = `import(${JSON.stringify(SOURCE)}).then(({ sqliteStorage }) => sqliteStorage(${JSON.stringify({ filename: nextFile(), driver })}).close()).then(() => console.log('closed'))`
    const { stdout } = await run(process.execPath, ['--no-warnings', '-e', text])
    expect(stdout.trim()).toBe('closed')
  })
})

it('an older Node is refused at import with a sentence, before a driver can end the process', async () => {
  const older = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '22.13.1' } })"
  const text = `import(${JSON.stringify(SOURCE)}).then(() => console.log('loaded'), ({ code, message }) => console.log(code + ': ' + message))`
  const { stdout } = await run(process.execPath, ['--no-warnings', '--import', `data:text/javascript,${older}`, '-e', text])
  expect(stdout.trim()).toBe(
    'failed_precondition: strongroom/sqlite needs Node 22.14 or newer, and this is Node 22.13.1. Update Node: on an older one the driver ends the process.',
  )
})

const disk = mountSmallDisk(1)
afterAll(() => disk?.unmount())

// Only root may mount. Without it a read-only file system cannot be made.
describe.skipIf(disk === undefined)('on a file system that is read-only', () => {
  it.each(DRIVERS)(
    '%s opens neither a new file nor one that is there, and says why, also where no block is free',
    async (driver) => {
      const directory = disk?.directory ?? ''
      const source = nextFile()
      await sqliteStorage({ filename: source, driver }).close()
      disk?.setWritable(true)
      copyFileSync(source, join(directory, 'old.db'))
      for (const isFull of [false, true]) {
        if (isFull) {
          disk?.setWritable(true)
          expect(() => writeFileSync(join(directory, 'ballast'), new Uint8Array(2_000_000))).toThrow(/ENOSPC/)
        }
        disk?.setWritable(false)
        for (const name of ['new.db', 'old.db'])
          expect(() => sqliteStorage({ filename: join(directory, name), driver })).toThrow(
            expect.objectContaining({
              code: 'failed_precondition',
              message: 'sqliteStorage: the file system of the SQLite file is read-only. Keep the file where it can be written.',
            }),
          )
      }
      disk?.setWritable(true)
      // A disk that is full and can be written is still said to be full.
      expect(() => sqliteStorage({ filename: join(directory, 'full.db'), driver })).toThrow(
        expect.objectContaining({ code: 'storage_full' }),
      )
      writeFileSync(join(directory, 'ballast'), '')
    },
  )
})
