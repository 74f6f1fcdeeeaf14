/** Law: concurrent updates of different columns of one record are all stored. */
import { expect } from 'vitest'
import { localKeys } from '../../src/adapters/keys/local-keys.ts'
import { column, createVault, defineSchema } from '../../src/index.ts'
import { engineInTurn, onFresh, openPlaces } from '../support/storages/places.ts'
import { OWNER, TEST_SECRET } from '../support/vaults/test-vault.ts'
import type { Law } from './law.ts'

/** Names of 64 columns. */
const COLUMNS = Array.from({ length: 64 }, (_, i) => `c${i}`)

const schema = defineSchema({ wide: Object.fromEntries(COLUMNS.map((name) => [name, column.string({})])) })

export const concurrentUpdates: Law = {
  name: 'concurrent-updates',
  statement: '64 concurrent updates of different columns of one record are all stored',
  unit: 'rounds',
  figures: { test: 6, soak: 1000 },
  weight: 1,
  async open({ postgresUrl }) {
    const places = await openPlaces(postgresUrl)
    return {
      async check({ number, seed }) {
        await onFresh(engineInTurn(places, number), async (place) => {
          const vault = await createVault({ id: 'wide', schema, storage: place.open(), keys: localKeys({ key: TEST_SECRET }) })
          const wide = vault.as(OWNER)
          const { records } = await wide.insert('wide', [{ fields: { c0: 'first' } }])
          const id = records[0]?.id ?? ''
          await Promise.all(COLUMNS.map((name) => wide.updateOne('wide', id, { [name]: `${name} of ${seed}` })))
          const { fields } = await wide.getOne('wide', id, { redaction: 'PLAIN_TEXT' })
          expect(fields).toEqual(Object.fromEntries(COLUMNS.map((name) => [name, `${name} of ${seed}`])))
        })
        return 1
      },
      close: () => places.close(),
    }
  },
}
