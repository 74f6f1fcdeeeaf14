/** Transactions of the application beside long operations: its driver stops the process while it waits for the writer, so no turn may be taken with that. */
import { DatabaseSync } from 'node:sqlite'
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/index.ts'
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import { column, createVault, defineSchema } from '../../../src/index.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'
import { temporaryFolder } from './temporary-folder.ts'

const nextFile = temporaryFolder()
const COUNT = 1000

const drawn = () =>
  column.string({ redaction: 'PLAIN_TEXT', token: { kind: 'formatPreserving', format: { pattern: '[a-z]{20}' } } })
const schema = defineSchema({ people: { a: drawn(), b: drawn(), c: drawn(), d: drawn(), e: drawn() } })

const fields = (text: string) => ({ a: `${text} a`, b: `${text} b`, c: `${text} c`, d: `${text} d`, e: text.padEnd(1500, '.') })
const records = (text: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({ fields: fields(`${text} ${index}`) }))

/** Writes in each turn of the event loop until an operation ends. Throws if the file was locked. */
async function writeBeside(operation: Promise<unknown>, host: { exec(text: string): unknown }): Promise<number> {
  let isOver = false
  const end = (): void => {
    isOver = true
  }
  operation.then(end, end)
  let written = 0
  while (!isOver) {
    host.exec('begin immediate; insert into orders values (1); commit')
    written++
    await new Promise((resolve) => setImmediate(resolve))
  }
  await operation
  return written
}

describe.each([
  ['better-sqlite3', (filename: string) => new Database(filename, { timeout: 0 })],
  ['node:sqlite', (filename: string) => new DatabaseSync(filename, { timeout: 0 })],
] as const)('a transaction of the application on %s', (driver, open) => {
  it('never finds the file locked beside an insert, a change and a deletion of 1,000 records', async () => {
    const filename = nextFile()
    const vault = await createVault({
      id: 'v1',
      schema,
      storage: sqliteStorage({ filename, driver }),
      keys: localKeys({ key: TEST_SECRET }),
    })
    const session = vault.as(OWNER)
    // The head of the chain is known then, so that the next insert is one commit.
    for (const text of ['first', 'second', 'third']) await session.insert('people', records(text, 2))
    const host = open(filename)
    host.exec('create table orders (total integer)')
    const inserting = session.insert('people', records('new', COUNT))
    let written = await writeBeside(inserting, host)
    const ids = (await inserting).records.map(({ id }) => id)
    const changes = ids.map((id, index) => ({ id, fields: fields(`changed ${index}`) }))
    written += await writeBeside(session.updateMany('people', changes), host)
    written += await writeBeside(session.delete('people', ids), host)
    expect(written).toBeGreaterThan(3)
    host.close()
    await vault.close()
  })
})
