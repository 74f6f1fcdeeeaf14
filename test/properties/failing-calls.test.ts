/** The law of failing calls, and its negative controls: storages that commit what they should roll back, or lose events. */
import { expect, it } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import type { Changes, StorageHandle } from '../../src/core/ports/storage.ts'
import { AUDIT_EVENTS } from '../../src/core/schema/system-tables.ts'
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

/** A storage that acknowledges events of reads without storing them. */
function withoutEventsOfReads(sound: StorageHandle): StorageHandle {
  const isOfRead = ({ inserts }: Changes): boolean => inserts.every(({ table }) => table === AUDIT_EVENTS.name)
  return { ...sound, commit: async (changes) => isOfRead(changes) || sound.commit(changes) }
}

it('a storage that loses the events of reads is found out, though its trail verifies', async () => {
  const { failures } = await failCalls(withoutEventsOfReads(memoryStorage()), 'no events of reads')
  expect(failures).toEqual(failures.filter((failure) => failure.includes('(reads): ')))
  expect(failures).not.toEqual([])
})
