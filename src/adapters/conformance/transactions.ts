/** Transactions that cases about atomicity and isolation share. */
import type { Storage } from '../../core/ports/storage.ts'
import { assert, rejectionOf } from './assert.ts'

/** Runs work in a transaction that then throws, and asserts that the thrown object is rethrown. */
export async function rolledBack(storage: Storage, work: (storage: Storage) => Promise<void>): Promise<void> {
  const reason = new Error('rolled back on purpose')
  const rejection = await rejectionOf(
    storage.transaction(async (inner) => {
      await work(inner)
      throw reason
    }),
    'the transaction',
  )
  assert(rejection === reason, 'what work threw should come out as the very same object')
}

/** Counts the rows. */
export const COUNT = [{ kind: 'count' }] as const

/** One row changed, one deleted, one added: what a rollback must restore. */
export async function changeEverything(storage: Storage): Promise<void> {
  await storage.update('keyed', [{ id: 1, version: 1, set: { email: 'changed@x' } }])
  await storage.delete('keyed', { ids: [2] })
  await storage.insert('keyed', [{ id: 3, email: 'b@x' }])
}
