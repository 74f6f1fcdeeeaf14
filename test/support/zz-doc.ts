// runs: prefixed-storage
import { describe, it } from 'node:test'
import { isVaultError, type Storage, type StorageHandle, VaultError } from '/work/main/src/index.ts'
import { storageCases } from '/work/main/src/adapters/contract/index.ts'
import { memoryStorage } from '/work/main/src/adapters/memory/index.ts'

/** A storage whose tables all begin with a prefix inside another storage; closing it leaves the other one open. */
function prefixedStorage(storage: StorageHandle, prefix: string): StorageHandle {
  return {
    ...prefixed(storage, prefix),
    joinTransaction: (hostTransaction) => prefixed(storage.joinTransaction(hostTransaction), prefix),
    close: async () => {},
  }
}

function prefixed(storage: Storage, prefix: string): Storage {
  const named = (table: string) => prefix + table
  const rename = (error: unknown): never => {
    if (!isVaultError(error) || error.facts.table?.startsWith(prefix) !== true) throw error
    const facts = { ...error.facts, table: error.facts.table.slice(prefix.length) }
    throw new VaultError(error.code, error.message, facts)
  }
  return {
    prepare: (tables) => storage.prepare(tables.map((table) => ({ ...table, name: named(table.name) }))).catch(rename),
    reserveIds: (table, count) => storage.reserveIds(named(table), count).catch(rename),
    insert: (table, rows) => storage.insert(named(table), rows).catch(rename),
    get: (table, ids) => storage.get(named(table), ids).catch(rename),
    find: (table, filter, page) => storage.find(named(table), filter, page).catch(rename),
    update: (table, patches) => storage.update(named(table), patches).catch(rename),
    delete: (table, doomed) => storage.delete(named(table), doomed).catch(rename),
    measure: (table, filter, measures) => storage.measure(named(table), filter, measures).catch(rename),
    // No rename here: what work throws must come out as the very same object.
    transaction: (work) => storage.transaction((storage) => work(prefixed(storage, prefix))),
  }
}

describe('prefixed storage', () => {
  for (const { name, run } of storageCases) {
    it(name, () => {
      const storage = prefixedStorage(memoryStorage(), 'blue_')
      return run({ open: async () => storage, reopen: async () => storage })
    })
  }
})
