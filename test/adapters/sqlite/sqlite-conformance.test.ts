/** The SQLite storage passes the conformance suite with each driver, on real files. */
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import { runStorageCases } from '../../support/storages/run-storage-cases.ts'
import { temporaryFolder } from './temporary-folder.ts'

const nextFile = temporaryFolder()

for (const driver of ['better-sqlite3', 'node:sqlite'] as const) {
  runStorageCases(`sqlite (${driver})`, () => {
    const filename = nextFile()
    const open = async () => sqliteStorage({ filename, driver })
    return { open, reopen: open }
  })
}
