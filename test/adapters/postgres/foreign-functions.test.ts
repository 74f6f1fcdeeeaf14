/** Functions that others created where the server looks for names, with parameters that fit better than those of its own: none is called. */
import pg from 'pg'
import { afterAll, describe, inject, it } from 'vitest'
import { storageCases } from '../../../src/adapters/conformance/index.ts'
import { postgresStorage } from '../../../src/adapters/postgres/index.ts'
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

describe('beside foreign functions', () => {
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
