/** Inserts batches until it is killed, and writes each acknowledged batch to a file. Started by crash.test.ts. */
import { openSync, writeSync } from 'node:fs'
import { localKeys } from '../../src/adapters/keys/local-keys.ts'
import { createVault } from '../../src/index.ts'
import { openStorage } from '../support/storages/open-storage.ts'
import { OWNER, TEST_SECRET } from '../support/vaults/test-vault.ts'
import { BATCH, crashSchema } from './crash-schema.ts'

const [address = '', ledger = '', round = '0'] = process.argv.slice(2)
const storage = openStorage(JSON.parse(address))
const vault = await createVault({ id: 'crash', schema: crashSchema, storage, keys: localKeys({ key: TEST_SECRET }) })
const session = vault.as(OWNER)
const acknowledged = openSync(ledger, 'a')

/** Several concurrent writers, so that a kill meets batches in every state. */
await Promise.all(
  Array.from({ length: 4 }, async (_, writer) => {
    for (let count = 0; ; count++) {
      const batch = `${round}/${writer}/${count}`
      const records = Array.from({ length: BATCH }, (_, i) => ({ fields: { batch, secret: `${batch}#${i}` } }))
      const answer = await session.insert('things', records)
      writeSync(acknowledged, `${batch} ${answer.records.map((record) => record.id).join(' ')}\n`)
    }
  }),
)
