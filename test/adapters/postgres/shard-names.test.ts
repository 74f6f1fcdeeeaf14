/** Conflicts behind an extension that spreads tables over servers: the server that answers appends the number of a shard to the names of tables and indexes. */
import pg from 'pg'
import { afterAll, expect, inject, it } from 'vitest'
import { postgresStorage } from '../../../src/adapters/postgres/index.ts'
import { indexName, knownName } from '../../../src/adapters/postgres/postgres-sql-dialect.ts'
import type { PhysicalTable, StorageHandle } from '../../../src/core/ports/storage.ts'
import type { ColumnDefinition } from '../../../src/core/schema/column.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'

const database = await freshDatabase(inject('postgresUrl'))
const admin = new pg.Client({ connectionString: database.url })
await admin.connect()
afterAll(async () => {
  await admin.end()
  await database.drop()
})

/** The name of a shard, as Citus 13 makes it: a name that is too long for the number is cut after 47 bytes, and gets a hash. */
await admin.query(`create function shard_name(name text) returns text language sql as $$ select case
  when octet_length(name) < 57 then name || '_102117' else left(name, 47) || '_0123abcd_102117' end $$`)

/** Renames the tables and indexes of a schema to those of a shard. Views have the old names of the tables. */
async function toShards(schema: string): Promise<void> {
  const { rows } = await admin.query<{ name: string; kind: string; shard: string }>(
    `select relname as name, case relkind when 'r' then 'table' else 'index' end as kind, public.shard_name(relname) as shard
      from pg_class where relnamespace = '${schema}'::regnamespace and relkind in ('r', 'i')`,
  )
  for (const { name, kind, shard } of rows) {
    await admin.query(`alter ${kind} ${schema}."${name}" rename to "${shard}"`)
    if (kind === 'table') await admin.query(`create view ${schema}."${name}" as select * from ${schema}."${shard}"`)
  }
}

function open(schema: string): StorageHandle {
  return postgresStorage({ connectionString: database.url, schema })
}

const LONG = 'a_name_of_as_many_characters_as_a_vault_takes_for_a_table_or_so'

it('a vault names the table and the columns of a conflict, and an upsert finds its record', async () => {
  for (const [schema, table] of [
    ['short', 'people'],
    ['long', LONG],
  ] as const) {
    const text = { type: 'STRING', unique: true } as const
    const columns: Readonly<Record<string, ColumnDefinition>> = {
      email: text,
      [`${LONG.slice(0, 60)}_a`]: text,
      [`${LONG.slice(0, 60)}_b`]: text,
      badge: { ...text, encrypted: false },
    }
    const storage = open(schema)
    const { session } = await openLoose(storage, { [table]: columns })
    await toShards(schema)
    const fields = Object.fromEntries(Object.keys(columns).map((column) => [column, `first ${column}`]))
    const {
      records: [first],
    } = await session.insert(table, [{ fields }])
    for (const column of Object.keys(columns)) {
      const repeated = { fields: { [column]: `first ${column}` } }
      const conflict = { code: 'conflict', details: [{ table, column }] }
      await expect(session.insert(table, [repeated])).rejects.toMatchObject(conflict)
      await expect(session.insert(table, [{ fields: { email: `other ${column}` } }, repeated])).rejects.toMatchObject({
        ...conflict,
        details: [{ table, column, index: 1 }],
      })
      const upserted = await session.insert(table, [repeated], { upsert: column })
      expect(upserted.records[0]?.id).toBe(first?.id)
    }
    await storage.close()
  }
})

const KEYED: PhysicalTable = {
  name: 'keyed',
  columns: [{ name: 'email', type: 'text' }],
  indexes: [{ columns: ['email'], unique: true }],
}

it('the storage names the column of a conflict of its own calls, of a commit and of a transaction', async () => {
  const storage = open('bare')
  await storage.prepare([KEYED])
  await toShards('bare')
  const [id = 0, other = 0] = await storage.reserveIds('keyed', 2)
  await storage.insert('keyed', [{ id, email: 'a' }])
  const rows = [{ id: other, email: 'a' }]
  const ofEmail = { code: 'conflict', details: [{ table: 'keyed', columns: ['email'], index: 0 }] }
  await expect(storage.insert('keyed', rows)).rejects.toMatchObject(ofEmail)
  await expect(storage.commit({ updates: [], inserts: [{ table: 'keyed', rows }] })).rejects.toMatchObject(ofEmail)
  await expect(storage.transaction((inner) => inner.insert('keyed', rows))).rejects.toMatchObject(ofEmail)
  const ofId = { code: 'conflict', details: [{ table: 'keyed', columns: ['id'] }] }
  await expect(storage.insert('keyed', [{ id, email: 'b' }])).rejects.toMatchObject(ofId)
  await expect(storage.commit({ updates: [], inserts: [{ table: 'keyed', rows: [{ id, email: 'b' }] }] })).rejects.toMatchObject(
    ofId,
  )
  await storage.close()
})

it('a name is found as it is, without the number of a shard, and from what a shard leaves of it', () => {
  const index = indexName({ ...KEYED, name: LONG }, { columns: ['email'], unique: true })
  const known = ['keyed_1', 'keyed', LONG, index]
  expect(knownName('keyed_1', known)).toBe('keyed_1')
  expect(knownName('keyed_1_102117', known)).toBe('keyed_1')
  expect(knownName('keyed_102117', known)).toBe('keyed')
  expect(knownName(`${LONG.slice(0, 46)}_0123abcd_102117`, [LONG])).toBe(LONG)
  expect(knownName(`${index}_12345678901234`, known)).toBe(index)
  for (const name of ['', 'keyed_', 'keyed_x', 'other_102117', '_102117', '__0123abcd_1'])
    expect(knownName(name, known)).toBeUndefined()
})
