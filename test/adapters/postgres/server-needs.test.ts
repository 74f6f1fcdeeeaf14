/** Servers that lack something a vault needs, or keep it from the role: it is named while the vault is opened. */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, afterEach, expect, inject, it } from 'vitest'
import { postgresStorage } from '../../../src/adapters/postgres/index.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'
import { rewritingClient } from '../../support/postgres/rewriting-client.ts'
import { OWNER, openPeople } from '../../support/vaults/test-vault.ts'

const role = `needs_${randomBytes(4).toString('hex')}`
const database = await freshDatabase(inject('postgresUrl'))
const admin = new pg.Pool({ connectionString: database.url })
await admin.query(
  `create role ${role} login password 'right'; grant create on database ${new URL(database.url).pathname.slice(1)} to ${role}`,
)
const endings: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})
afterAll(async () => {
  await admin.query(`drop owned by ${role} cascade; drop role ${role}`)
  await admin.end()
  await database.drop()
})

let schemas = 0

/** A pool of the role, whose server reads other statements than those of the vault. */
function poolOf(rewrite = (text: string) => text): pg.Pool {
  const connectionString = Object.assign(new URL(database.url), { username: role, password: 'right' }).href
  const pool = new pg.Pool(Object.assign({ connectionString, max: 2 }, { Client: rewritingClient(rewrite) }))
  endings.push(() => pool.end())
  return pool
}

const missing = (name: string) => ({
  code: 'failed_precondition',
  message: expect.stringContaining(`The server lacks ${name}`),
})

for (const [signature, name] of [
  ['hashtextextended(text, bigint)', 'the function hashtextextended'],
  ['pg_try_advisory_xact_lock(bigint)', 'advisory locks (pg_try_advisory_xact_lock)'],
  ['pg_advisory_xact_lock(bigint)', 'advisory locks (pg_advisory_xact_lock)'],
] as const) {
  it(`${signature} that the role may not call is named, by an existing vault too where its calls need it`, async () => {
    const schema = `needs_${++schemas}`
    const founded = name.endsWith('(pg_advisory_xact_lock)')
      ? undefined
      : await openPeople(postgresStorage({ pool: poolOf(), schema }))
    await founded?.close()
    await admin.query(`revoke execute on function pg_catalog.${signature} from public`)
    endings.push(() => admin.query(`grant execute on function pg_catalog.${signature} to public`))
    await expect(openPeople(postgresStorage({ pool: poolOf(), schema }))).rejects.toMatchObject(missing(name))
    await expect(openPeople(postgresStorage({ pool: poolOf(), schema: `needs_${++schemas}` }))).rejects.toMatchObject(
      missing(name),
    )
  })
}

/** Statements that the server does not read, and what is said to be missing. */
const UNREAD: readonly (readonly [word: RegExp, name: string])[] = [
  [/^savepoint /, 'SAVEPOINT'],
  [/hashtextextended/, 'the function hashtextextended'],
  [/pg_try_advisory_xact_lock/, 'advisory locks'],
  [/pg_advisory_xact_lock/, 'advisory locks'],
  [/collate (?=pg_catalog)/, 'COLLATE'],
  [/unnest/, 'arrays'],
  [/^create schema/, 'CREATE SCHEMA'],
  [/^create table/, 'CREATE TABLE'],
  [/^create sequence/, 'CREATE SEQUENCE'],
  [/^create (unique )?index/, 'CREATE INDEX'],
  [/^lock table/, 'LOCK TABLE'],
]

for (const [word, name] of UNREAD) {
  it(`a server that does not know ${word.source} is said to lack ${name}`, async () => {
    const pool = poolOf((text) => text.replace(word, (known) => `${known.slice(0, 5)}_${known.slice(5)}`))
    await expect(openPeople(postgresStorage({ pool, schema: `needs_${++schemas}` }))).rejects.toMatchObject(missing(name))
  })
}

it('a server is asked once for each handle, and an existing vault is opened without its tables being locked', async () => {
  const texts: string[] = []
  const pool = poolOf((text) => {
    texts.push(text)
    return text
  })
  const schema = `needs_${++schemas}`
  const storage = postgresStorage({ pool, schema })
  const vault = await openPeople(storage)
  await vault.as(OWNER).insert('people', [{ fields: { name: 'Ada' } }])
  const asked = () => texts.filter((text) => text.startsWith('select') && text.includes("'a' collate")).length
  expect(asked()).toBe(1)
  await storage.prepare([{ name: 'more', columns: [], indexes: [] }])
  expect(asked()).toBe(1)
  await vault.close()
  texts.length = 0
  await (await openPeople(postgresStorage({ pool, schema }))).close()
  expect(asked()).toBe(1)
  expect(texts.filter((text) => text.startsWith('lock '))).toEqual([])
})
