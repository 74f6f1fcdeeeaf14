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

  it('that upsert the same record by one of its two unique columns, from three handles, all succeed', async () => {
    const place = engine.fresh()
    const handles = await Promise.all(['a', 'b', 'c'].map(async () => (await openPeople(place.open())).as(OWNER)))
    for (let round = 0; round < 20; round++) {
      const fields = { name: 'Ann', email: `${round}@acme.example`, badge: `B-${round}` }
      const written = await Promise.all(handles.map((people) => people.insert('people', [{ fields }], { upsert: 'badge' })))
      expect(new Set(written.map(({ records }) => records[0]?.id)).size).toBe(1)
    }
  })

  it('that upsert different records with one value in another unique column throw conflict for all but one', async () => {
    const place = engine.fresh()
    const handles = await Promise.all(['a', 'b', 'c'].map(async () => (await openPeople(place.open())).as(OWNER)))
    const outcomes = await Promise.allSettled(
      handles.map((people, index) =>
        people.insert('people', [{ fields: { name: 'Ann', email: 'one@acme.example', badge: `B-${index}` } }], {
          upsert: 'badge',
        }),
      ),
    )
    const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
    expect(reasons).toMatchObject([
      { code: 'conflict', details: [{ column: 'email' }] },
      { code: 'conflict', details: [{ column: 'email' }] },
    ])
  })
})
