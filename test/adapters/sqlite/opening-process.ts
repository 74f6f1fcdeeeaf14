/** A separate process that gives up the rights of root, opens files, and prints "opened" or the code and message of each: `node opening-process.ts <uid> <gid> <driver> <file>...`. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import { isVaultError } from '../../../src/index.ts'

const [uid = '', gid = '', driver, ...files] = process.argv.slice(2)
if (driver !== 'better-sqlite3' && driver !== 'node:sqlite') throw new Error('no driver')

// The driver is loaded while this process may still read it.
const folder = mkdtempSync(join(tmpdir(), 'strongroom-opening-'))
await sqliteStorage({ filename: join(folder, 'first.db'), driver }).close()
rmSync(folder, { recursive: true })
if (uid !== '') {
  process.setgroups?.([])
  process.setgid?.(Number(gid))
  process.setuid?.(Number(uid))
}
for (const filename of files) {
  try {
    await sqliteStorage({ filename, driver }).close()
    console.log('opened')
  } catch (error) {
    console.log(isVaultError(error) ? `${error.code}: ${error.message}` : String(error))
  }
}
