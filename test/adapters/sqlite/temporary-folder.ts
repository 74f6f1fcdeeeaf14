/** A folder for the files of one test file, deleted after its tests. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

/** Returns names of files that do not exist yet. */
export function temporaryFolder(): () => string {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-sqlite-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  let files = 0
  return () => join(folder, `vault-${++files}.db`)
}
