/** A folder for the files of one test file, gone when its tests have ended. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

/** Answers names of files that do not exist yet. */
export function temporaryFolder(): () => string {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-sqlite-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  let files = 0
  return () => join(folder, `vault-${++files}.db`)
}
