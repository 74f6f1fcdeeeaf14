/** The memory storage passes the conformance suite. */

import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { runStorageCases } from '../../support/storages/run-storage-cases.ts'

runStorageCases('memory', () => {
  const storage = memoryStorage()
  return { open: async () => storage, reopen: async () => storage }
})
