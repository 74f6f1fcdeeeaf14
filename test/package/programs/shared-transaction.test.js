/** Joins transactions of a driver that a test under Jest requires. If the vault loads another copy of it, the process ends when garbage is collected. */
const { randomBytes } = require('node:crypto')
const Database = require('better-sqlite3')
const { column, createVault, defineSchema } = require('strongroom')
const { localKeys } = require('strongroom/keys')
const { sqliteStorage } = require('strongroom/sqlite')

test.each([1, 2, 3, 4, 5])('a transaction of a test, run %i', async (run) => {
  const filename = `shared-${run}.db`
  const schema = defineSchema({ notes: { text: column.string({ redaction: 'PLAIN_TEXT' }) } })
  const keys = localKeys({ key: randomBytes(32).toString('base64') })
  const vault = await createVault({ id: 'v1', schema, storage: sqliteStorage({ filename }), keys })
  const owner = { actor: 'test', actorType: 'USER', roles: ['VAULT_OWNER'] }
  const database = new Database(filename)
  database.exec('begin immediate')
  await vault
    .withTransaction(database)
    .as(owner)
    .insert('notes', [{ fields: { text: 'stored' } }])
  database.exec('commit')
  database.close()
  expect((await vault.as(owner).get('notes')).records.length).toBe(1)
  await vault.close()
  for (let turn = 0; turn < 5; turn++) {
    global.gc()
    await new Promise(setImmediate)
  }
})
