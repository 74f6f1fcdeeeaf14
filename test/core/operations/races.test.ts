/** Concurrent calls for the same record: one record, and no lost change, on every storage. */
import { expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { column, createVault, defineSchema } from '../../../src/index.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { OWNER, openPeople, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const CALLERS = 64
const ROUNDS = process.env.SOAK === '1' ? 1000 : 20

/** Names of 64 columns. */
const COLUMNS = Array.from({ length: CALLERS }, (_, i) => `c${i}`)

onEachStorage('concurrent calls', (engine) => {
  it(`64 upserts of one key create one record, in ${ROUNDS} rounds`, async () => {
    const vault = await openPeople(engine.fresh().open())
    const people = vault.as(OWNER)
    for (let round = 0; round < ROUNDS; round++) {
      const email = `round${round}@acme.example`
      const answers = await Promise.all(
        COLUMNS.map((name) => people.insert('people', [{ fields: { name, email } }], { upsert: 'email' })),
      )
      expect(new Set(answers.map(({ records }) => records[0]?.id)).size).toBe(1)
      const found = await people.get('people', { columnName: 'email', columnValues: [email] })
      expect(found.records.length).toBe(1)
    }
  }, 600_000)

  it(`64 updates of different columns of one record are all stored, in ${ROUNDS / 10} rounds`, async () => {
    const schema = defineSchema({ wide: Object.fromEntries(COLUMNS.map((name) => [name, column.string({})])) })
    const vault = await createVault({
      id: 'wide',
      schema,
      storage: engine.fresh().open(),
      keys: localKeys({ key: TEST_SECRET }),
    })
    const wide = vault.as(OWNER)
    for (let round = 0; round < ROUNDS / 10; round++) {
      const { records } = await wide.insert('wide', [{ fields: { c0: 'first' } }])
      const id = records[0]?.id ?? ''
      await Promise.all(COLUMNS.map((name) => wide.update('wide', id, { fields: { [name]: `${name} of ${round}` } })))
      const { fields } = await wide.getOne('wide', id, { redaction: 'PLAIN_TEXT' })
      expect(fields).toEqual(Object.fromEntries(COLUMNS.map((name) => [name, `${name} of ${round}`])))
    }
  }, 600_000)

  it('of 64 inserts of one unique value one succeeds, and the others throw conflict', async () => {
    const people = (await openPeople(engine.fresh().open())).as(OWNER)
    const outcomes = await Promise.allSettled(
      COLUMNS.map((name) => people.insert('people', [{ fields: { name, email: 'one@acme.example' } }])),
    )
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled').length).toBe(1)
    const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
    for (const reason of reasons) expect(reason).toMatchObject({ code: 'conflict', details: [{ column: 'email' }] })
    expect((await people.get('people')).records.length).toBe(1)
  })
})
