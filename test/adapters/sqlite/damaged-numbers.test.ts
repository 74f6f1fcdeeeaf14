/** Numbers that a writer of the file changed, also in tables that are no longer STRICT, give documented errors. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import { column, createVault, defineSchema } from '../../../src/index.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const schema = defineSchema({
  people: { name: column.string({ redaction: 'PLAIN_TEXT' }), age: column.integer({ encrypted: false }) },
  notes: { text: column.string({ redaction: 'PLAIN_TEXT' }) },
})

const COUNT = 150

const directory = mkdtempSync(join(tmpdir(), 'strongroom-test-'))
afterAll(() => rmSync(directory, { recursive: true }))
let files = 0

/** A vault in a file that was changed by this SQL while it was closed. */
async function openChanged(change: string) {
  const filename = join(directory, `${files++}.db`)
  const open = () =>
    createVault({ id: 'v1', schema, storage: sqliteStorage({ filename }), keys: localKeys({ key: TEST_SECRET }) })
  const before = await open()
  const owner = before.as(OWNER)
  await owner.insert(
    'people',
    Array.from({ length: COUNT }, (_, age) => ({ fields: { name: `name ${age}`, age } })),
  )
  await owner.insert(
    'notes',
    Array.from({ length: COUNT }, (_, n) => ({ fields: { text: `text ${n}` } })),
  )
  await before.close()
  const database = new Database(filename)
  database.unsafeMode(true)
  database.pragma('writable_schema = 1')
  database.exec("update sqlite_master set sql = replace(sql, ' strict', '') where type = 'table'")
  database.pragma('writable_schema = RESET')
  database.exec(change)
  database.close()
  return open()
}

const FAR = ['9223372036854775807', '9007199254740993', '9007199254740991', '-9007199254740993', '-9223372036854775808']

it.each(FAR)('a row whose id is %s: reading on from it is data_loss', async (id) => {
  const vault = await openChanged(`update records_1_people set id = ${id} where id = 1`)
  const owner = vault.as(OWNER)
  await expect(owner.get('people', { limit: 500 })).rejects.toMatchObject({ code: 'data_loss' })
  await expect(owner.query('SELECT COUNT(*) FROM people WHERE name IS NOT NULL')).rejects.toMatchObject({ code: 'data_loss' })
  expect((await owner.get('notes')).records).toHaveLength(25)
  await vault.close()
})

it.each(["'text'", "'1,2'", "'1,2000'", "x'00'"])(
  'a version that is %s: the rows are read without it, and verification reports it',
  async (version) => {
    const vault = await openChanged(`update records_4_notes set version = ${version} where id = 7`)
    const { records } = await vault.as(OWNER).get('notes', { limit: COUNT })
    expect(records.map(({ fields }) => fields.text)).toEqual(Array.from({ length: COUNT }, (_, n) => `text ${n}`))
    expect((await vault.verifyRecords()).counts).toEqual({ impossible_version: 1 })
    await vault.close()
  },
)

it.each(['1.5', '9e999'])('the sum of a column with %s is data_loss', async (cell) => {
  const vault = await openChanged(`update records_1_people set plain_3_age = ${cell} where id = 3`)
  await expect(vault.as(OWNER).query('SELECT SUM(age), AVG(age) FROM people')).rejects.toMatchObject({ code: 'data_loss' })
  await vault.close()
})

it.each(['1.5', "'text'", "x'01'", 'null'])(
  'a counter of row ids that is %s: inserts are data_loss, and no id is given out',
  async (next) => {
    const vault = await openChanged(`update strongroom_ids set next = ${next} where name = 'records_1_people'`)
    const owner = vault.as(OWNER)
    await expect(owner.insert('people', [{ fields: { name: 'another' } }])).rejects.toMatchObject({
      code: 'data_loss',
      message: expect.stringContaining(
        'The counter of row ids of table "records_1_people" in table "strongroom_ids" is no integer',
      ),
      details: [{ table: 'records_1_people' }],
    })
    await owner.insert('notes', [{ fields: { text: 'another' } }])
    expect(await vault.verifyRecords()).toMatchObject({ ok: true, recordCount: 2 * COUNT + 1 })
    await vault.close()
  },
)
