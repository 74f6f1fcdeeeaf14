/** The law of audit writers, and its negative control: an operation without an event. */
import { expect, it } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { assertWhole, auditWriters } from '../laws/audit-writers.ts'
import { openClients } from '../support/audit/audited-clients.ts'
import { doOperations } from '../support/audit/audited-work.ts'
import { itHolds } from '../support/laws/it-holds.ts'

itHolds(auditWriters)

it('one operation that left no event is found out', async () => {
  const storage = memoryStorage()
  const operations = await doOperations(await openClients(storage), { name: 'one', callers: 2, each: 4 })
  await expect(assertWhole(storage, operations)).resolves.toBeUndefined()
  await expect(assertWhole(storage, operations + 1)).rejects.toThrow('eventCount')
})
