/** A separate process that inserts records one by one and prints how many: `node inserting-process.ts <file> <name> <count>`. */
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import { column } from '../../../src/index.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const [, , filename = '', name = '', count = '0'] = process.argv
const schema = { notes: { text: column.string({ unique: true, token: 'random' }) } }
const { vault } = await openLoose(sqliteStorage({ filename }), schema)
let stored = 0
for (; stored < Number(count); stored++) {
  await vault.as(OWNER).insert('notes', [{ fields: { text: `TEST_SECRET ${name} ${stored}` } }])
}
await vault.close()
console.log(JSON.stringify({ stored }))
