/** Inserts and rolls back inside a transaction of the application's own Kysely, which is not the one that is built in. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import Database from 'better-sqlite3'
import { Kysely, SqliteDialect } from 'kysely'
import { column, createVault, defineSchema } from 'strongroom'
import { localKeys } from 'strongroom/keys'
import { sqliteStorage } from 'strongroom/sqlite'

const schema = defineSchema({ notes: { text: column.string({ redaction: 'PLAIN_TEXT' }) } })
const keys = localKeys({ key: randomBytes(32).toString('base64') })
const vault = await createVault({ id: 'v1', schema, storage: sqliteStorage({ filename: 'host.db' }), keys })
const owner = { actor: 'trial', actorType: 'SERVICE_ACCOUNT', roles: ['VAULT_OWNER'] }
const kysely = new Kysely({ dialect: new SqliteDialect({ database: new Database('host.db') }) })

for (const fails of [true, false]) {
  const joined = kysely.transaction().execute(async (transaction) => {
    await vault
      .withTransaction(transaction)
      .as(owner)
      .insert('notes', [{ fields: { text: 'joined' } }])
    if (fails) throw new Error('rolled back')
  })
  await (fails ? assert.rejects(joined, /rolled back/) : joined)
}

assert.equal((await vault.as(owner).get('notes')).records.length, 1)
await kysely.destroy()
await vault.close()
