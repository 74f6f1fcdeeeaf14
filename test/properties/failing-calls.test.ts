/** The law of failing calls, and its negative control: a storage that commits what it should roll back. */
import { expect, it } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import type { StorageHandle } from '../../src/core/ports/storage.ts'
import { failCalls, failingCalls } from '../laws/failing-calls.ts'
import { itHolds } from '../support/laws/it-holds.ts'

itHolds(failingCalls)

/** A storage whose transactions keep what they did before they failed. */
function withoutRollback(sound: StorageHandle): StorageHandle {
  return {
    ...sound,
    async transaction(work) {
      const [outcome] = await sound.transaction((within) => Promise.allSettled([work(within)]))
      if (outcome.status === 'rejected') throw outcome.reason
      return outcome.value
    },
  }
}

it('a storage that does not roll back is found out', async () => {
  const { failures } = await failCalls(withoutRollback(memoryStorage()), 'no rollback')
  expect(failures).not.toEqual([])
})
