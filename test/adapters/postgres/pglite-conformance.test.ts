/** The PostgreSQL storage passes the conformance suite on PGlite, as a pool of one, but for the cases that need two connections. */
import { afterAll, describe, expect, it } from 'vitest'
import { postgresStorage } from '../../../src/adapters/postgres/index.ts'
import { storageCases } from '../../../src/conformance/storage/index.ts'
import { openPGlite } from '../../support/postgres/pglite-pool.ts'
import { OWNER, openPeople } from '../../support/vaults/test-vault.ts'

const { pool, close } = await openPGlite()
afterAll(close)

/** Why cases are skipped, by their ids. */
const SKIPPED: Readonly<Record<string, string>> = {
  T23: 'one transaction waits for the lock of another, and one session has no other',
  T24: 'two transactions are open at once',
  T26: 'one transaction waits for the rows of another, and one session has no other',
  T27: 'a transaction waits for a writer beside it',
  T28: 'two transactions wait for the rows of each other',
  W5: 'a writer stores rows while a snapshot is open',
  W6: 'a snapshot is taken while a transaction is open',
}

describe('PostgreSQL storage on PGlite', () => {
  for (const [position, { id, name, run }] of storageCases.entries()) {
    const reopen = async () => postgresStorage({ pool, schema: `case_${position}` })
    it(name, async ({ skip }) => {
      skip(id in SKIPPED, SKIPPED[id])
      await run({ open: reopen, reopen })
    })
  }
})

it('a vault on PGlite works with calls side by side, in a transaction, and after it is opened again', async () => {
  const storage = postgresStorage({ pool })
  const vault = await openPeople(storage)
  const session = vault.as(OWNER)
  const names = ['Ada', 'Grace', 'Kay', 'Mary']
  await Promise.all(names.map((name) => session.insert('people', [{ fields: { name, email: `${name}@acme.example` } }])))
  const email = { where: { email: 'ada@acme.example' } } as const
  await vault.transaction(async (inside) => {
    const inner = inside.as(OWNER)
    const { records } = await inner.get('people', email)
    await inner.updateOne('people', records[0]?.id ?? '', { salary: 7 })
  })
  await expect(session.insert('people', [{ fields: { name: 'Ada', email: 'ADA@acme.example' } }])).rejects.toMatchObject({
    code: 'conflict',
    details: [{ table: 'people', column: 'email' }],
  })
  await vault.close()
  const again = await openPeople(postgresStorage({ pool }))
  const { records } = await again.as(OWNER).get('people', { ...email, redaction: 'PLAIN_TEXT' })
  expect(records.map(({ fields }) => fields.salary)).toEqual([7])
  expect(await again.verifyAudit()).toMatchObject({ ok: true })
  await again.close()
})
