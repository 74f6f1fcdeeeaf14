/** Concurrent calls for the same record: one record, and no lost change, on every storage. */
import { expect, it } from 'vitest'
import { concurrentUpdates } from '../../laws/concurrent-updates.ts'
import { concurrentUpserts } from '../../laws/concurrent-upserts.ts'
import { itHolds } from '../../support/laws/it-holds.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { OWNER, openPeople } from '../../support/vaults/test-vault.ts'

/** Names of 64 callers. */
const CALLERS = Array.from({ length: 64 }, (_, i) => `c${i}`)

itHolds(concurrentUpserts)
itHolds(concurrentUpdates)

onEachStorage('concurrent calls', (engine) => {
  it('of 64 inserts of one unique value one succeeds, and the others throw conflict', async () => {
    const people = (await openPeople(engine.fresh().open())).as(OWNER)
    const outcomes = await Promise.allSettled(
      CALLERS.map((name) => people.insert('people', [{ fields: { name, email: 'one@acme.example' } }])),
    )
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled').length).toBe(1)
    const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
    for (const reason of reasons) expect(reason).toMatchObject({ code: 'conflict', details: [{ column: 'email' }] })
    expect((await people.get('people')).records.length).toBe(1)
  })
})
