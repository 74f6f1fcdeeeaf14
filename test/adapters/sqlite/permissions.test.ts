/** A process that runs under Node's permission model: what it may not load or write is named, with the option that allows it. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { builtProcess } from '../../support/cli/built-command.ts'

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'strongroom-permissions-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Opens the storage that is named in a process with these options, writes, and returns what the process prints. */
async function used(storage: string, ...options: readonly string[]): Promise<string> {
  const program = builtProcess(join(import.meta.dirname, 'permitted-process.ts'))
  const { stdout } = await run(process.execPath, ['--no-warnings', ...options, program, storage, folder])
  return stdout.trim()
}

const READS = ['--permission', '--allow-fs-read=*']

describe('under the permission model', () => {
  it('better-sqlite3 needs --allow-addons, and the error says so and names the other driver', async () => {
    expect(await used('better-sqlite3', ...READS, `--allow-fs-write=${folder}`)).toMatch(
      /^failed_precondition: .*--allow-addons.*driver: 'node:sqlite'/,
    )
    expect(await used('better-sqlite3', ...READS, `--allow-fs-write=${folder}`, '--allow-addons')).toBe('stored')
  })

  it('better-sqlite3 is refused in the same way by --no-addons', async () => {
    expect(await used('better-sqlite3', '--no-addons')).toMatch(/^failed_precondition: .*without --no-addons/)
  })

  it('node:sqlite needs no addon', async () => {
    expect(await used('node:sqlite', ...READS, `--allow-fs-write=${folder}`)).toBe('stored')
  })

  it('a folder of blobs needs --allow-fs-write', async () => {
    expect(await used('blobs', ...READS)).toMatch(/^unavailable: .*--allow-fs-write/)
    expect(await used('blobs', ...READS, `--allow-fs-write=${folder}`)).toBe('stored')
  })
})
