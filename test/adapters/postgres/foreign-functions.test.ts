/** Functions, operators and types that others created where the server looks for names, some of which fit better than its own: none is used. */
import pg from 'pg'
import { afterAll, describe, inject, it } from 'vitest'
import { postgresStorage } from '../../../src/adapters/postgres/index.ts'
import { storageCases } from '../../../src/conformance/storage/index.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'

const database = await freshDatabase(inject('postgresUrl'))
const pool = new pg.Pool({ connectionString: database.url })
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const TYPES = ['bigint', 'double precision', 'text', 'bytea']

/** Every one of them raises an error, as its owner could make it do anything else with the rights of who calls it. */
const FOREIGN = [
  ...TYPES.map((type) => `function public.unnest(${type}[]) returns setof ${type}`),
  ...TYPES.map((type) => `function public.counted(bigint, ${type}) returns bigint`),
  'function public.joined(bytea, bytea, text) returns bytea',
  'function public.nextval(text) returns bigint',
  'function public.convert_to(text, text) returns bytea',
  'function public.pg_logical_emit_message(boolean, text, text) returns pg_lsn',
].map((head) => `create ${head} language plpgsql as $$ begin raise exception 'a foreign function was called'; end $$`)

await pool.query(FOREIGN.join('; '))
for (const type of TYPES) await pool.query(`create aggregate public.count(${type}) (sfunc = public.counted, stype = bigint)`)
await pool.query('create aggregate public.string_agg(bytea, text) (sfunc = public.joined, stype = bytea)')

const OPERAND_TYPES = [
  'int2',
  'int4',
  'int8',
  'float8',
  'text',
  'varchar',
  'bytea',
  'bool',
  'name',
  'oid',
  'pg_lsn',
  'int8[]',
  'text[]',
]
const OPERATORS = ['=', '<>', '<', '>', '<=', '>=', '||', '+', '/']

for (const left of OPERAND_TYPES) {
  for (const right of OPERAND_TYPES) {
    const body = `returns bool language plpgsql as $$ begin raise exception 'a foreign operator was called'; end $$`
    const made = OPERATORS.map(
      (name) => `create operator public.${name} (function = public.met, leftarg = ${left}, rightarg = ${right})`,
    )
    await pool.query(`create function public.met(${left}, ${right}) ${body}; ${made.join('; ')}`)
  }
}
for (const name of ['text', 'int4', 'int8', 'bytea', 'float8']) {
  await pool.query(`create domain public.${name} as pg_catalog.int4 check (value < 0)`)
}

/** The server looks for types among the temporary tables of a session before it looks in its own schema. */
const TEMPORARY = ['text', 'int4', 'int8', 'bytea', 'float8', 'pg_class', 'found'].map(
  (name) => `create temp table ${name} (a bigint)`,
)

describe('beside temporary tables that are named like types', () => {
  const crowded = new pg.Pool({ connectionString: database.url })
  crowded.on('connect', (client) => void client.query(TEMPORARY.join('; ')))
  afterAll(() => crowded.end())
  const cases = storageCases.filter(({ name }) => /^(O1|V3|V11|V12|L1|M1|K1|G1|P6|R6|S1) /.test(name))
  for (const [position, { name, run }] of cases.entries()) {
    const reopen = async () => postgresStorage({ pool: crowded, schema: `crowded_${position}` })
    it(name, () => run({ open: reopen, reopen }))
  }
})

describe('beside foreign functions and operators', () => {
  // Cases that call each function: lists, packed rows and columns, aggregates, commits, patches, long texts, ids.
  const cases = storageCases.filter(({ name }) => /^(O1|V3|V11|V12|L1|M1|K1|G1|P6|R6|S1) /.test(name))
  for (const [position, { name, run }] of cases.entries()) {
    const reopen = async () => postgresStorage({ connectionString: database.url, schema: `case_${position}`, maxConnections: 4 })
    it(name, () => run({ open: reopen, reopen }))
  }

  it('aggregates and pages of every type', async () => {
    const storage = postgresStorage({ pool, schema: 'aggregates' })
    const columns = [
      { name: 'whole', type: 'integer' },
      { name: 'part', type: 'real' },
      { name: 'title', type: 'text' },
      { name: 'sealed', type: 'bytes' },
    ] as const
    await storage.prepare([{ name: 'things', columns, indexes: [{ columns: ['title'], unique: true }] }])
    const ids = await storage.reserveIds('things', 100)
    await storage.insert(
      'things',
      ids.map((id) => ({ id, whole: id, part: id / 3, title: String(id), sealed: new Uint8Array([id]) })),
    )
    for (const { name } of columns) {
      await storage.aggregate('things', { kind: 'all' }, [
        { kind: 'count', column: name },
        { kind: 'min', column: name },
        { kind: 'max', column: name },
      ])
    }
    await storage.find('things', { kind: 'all' }, { order: 'asc', limit: 100 })
    await storage.close()
  })
})
