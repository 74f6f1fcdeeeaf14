/** The example of files prints what it is about: a clean file that is served, refused ones, and an infected one. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { builtPackage } from '../support/cli/built-command.ts'

const ROOT = join(import.meta.dirname, '../..')

/** Runs the example without a clamd. Returns its output with one space in place of each line break and indentation. */
function runExample(): string {
  const { stdout, stderr, status } = spawnSync(process.execPath, [...builtPackage(), join(ROOT, 'examples/files.ts')], {
    encoding: 'utf8',
    timeout: 200_000,
    env: { ...process.env, CLAMD_SOCKET: join(ROOT, 'no-such-socket') },
  })
  expect(status, stderr + stdout).toBe(0)
  return stdout.replace(/\s+/g, ' ')
}

it('npm run files says what it does', () => {
  const output = runExample()
  for (const sentence of [
    'So this example scans files itself',
    'fileName contract.txt fileSizeKB 12 fileType text/plain scan SCAN_CLEAN',
    'The words "Apache License" are in the contract, and not in the folder.',
    "The file: HTTP 200, text/plain, 11358 bytes of the contract attachment; filename*=UTF-8''contract.txt; nosniff",
    'Its first 32 bytes: HTTP 206, text/plain, 32 bytes of the contract',
    'A changed ticket: HTTP 404',
    'does not allow files whose content is image/svg+xml.',
    'The file is longer than the 1048576 bytes that column "contract" of table "applicants" allows.',
    'the folder has 1 file, and the record of Bo has SCAN_FILE_NOT_FOUND.',
    'The scan says SCAN_INFECTED.',
    'failed_precondition: Open file failed. The file in column "contract" of table "applicants" cannot be opened now.',
    'The folder has 0 files. The ticket: HTTP 404',
    'strongroom SCAN_FILE 200',
    'unknown OPEN_FILE 404',
  ])
    expect(output).toContain(sentence)
  expect(output).not.toContain('FILE_STATUS')
})
