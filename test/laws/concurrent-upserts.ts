/** Law: concurrent upserts, or first inserts of one value, make exactly one record and one deterministic token. */
import { expect } from 'vitest'
import { localKeys } from '../../src/adapters/keys/local-keys.ts'
import { column, createVault, defineSchema } from '../../src/index.ts'
import { engineInTurn, onFresh, openPlaces } from '../support/storages/places.ts'
import { OWNER, TEST_SECRET } from '../support/vaults/test-vault.ts'
import type { Law } from './law.ts'

const CALLERS = Array.from({ length: 64 }, (_, i) => i)
/** Rounds of one case, on a vault of its own. */
const ROUNDS = 5

const schema = defineSchema({
  people: {
    name: column.string({ redaction: 'PLAIN_TEXT' }),
    email: column.string({ unique: true, token: 'deterministic', redaction: 'PLAIN_TEXT' }),
  },
})

export const concurrentUpserts: Law = {
  name: 'concurrent-upserts',
  statement: '64 concurrent upserts of one key make one record with one token',
  unit: 'rounds',
  figures: { test: 30, soak: 1000 },
  weight: 1,
  async open({ postgresUrl }) {
    const places = await openPlaces(postgresUrl)
    return {
      async check({ number, seed }) {
        await onFresh(engineInTurn(places, number), async (place) => {
          const keys = localKeys({ key: TEST_SECRET })
          // Two handles share a storage, as two processes do. In memory there is one.
          const vaults = await Promise.all(
            [place.open(), place.open()].map((storage) => createVault({ id: 'v1', schema, storage, keys })),
          )
          for (let round = 0; round < ROUNDS; round++) {
            const email = `${seed.replaceAll(' ', '-')}-${round}@acme.example`
            const answers = await Promise.all(
              CALLERS.map((caller) =>
                vaults[caller % vaults.length]
                  ?.as(OWNER)
                  .insert('people', [{ fields: { name: `n${caller}`, email } }], { upsert: 'email', tokenization: true }),
              ),
            )
            expect(new Set(answers.map((answer) => answer?.records[0]?.id)).size).toBe(1)
            expect(new Set(answers.map((answer) => answer?.records[0]?.tokens.email)).size).toBe(1)
            const found = await vaults[0]?.as(OWNER).get('people', { where: { email: [email] } })
            expect(found?.records.length).toBe(1)
          }
        })
        return ROUNDS
      },
      close: () => places.close(),
    }
  },
}
