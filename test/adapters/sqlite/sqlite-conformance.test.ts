/** The SQLite storage passes the conformance suite, on real files. */
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import { runStorageCases } from '../../support/storages/run-storage-cases.ts'
import { temporaryFolder } from './temporary-folder.ts'

const nextFile = temporaryFolder()

runStorageCases('sqlite', () => {
  const filename = nextFile()
  const open = async () => sqliteStorage({ filename })
  return { open, reopen: open }
})
