/** What opening a vault reads of PostgreSQL's catalog: its own tables, however many others the database has. */
import pg from 'pg'
import { afterAll, expect, inject, it } from 'vitest'
import { postgresStorage } from '../../../src/adapters/postgres/index.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'
import { rewritingClient } from '../../support/postgres/rewriting-client.ts'
import { openPeople } from '../../support/vaults/test-vault.ts'

const database = await freshDatabase(inject('postgresUrl'))
const admin = new pg.Pool({ connectionString: database.url })
const seen: string[] = []
const Client = rewritingClient((text) => {
  seen.push(text)
  return text
})
const pool = new pg.Pool({ connectionString: database.url, Client })
afterAll(async () => {
  await admin.end()
  await pool.end()
  await database.drop()
})

/** The tables of the catalog that have a row or more for each table. */
const LARGE = ['pg_class', 'pg_attribute', 'pg_index']

/** Returns the tables that a plan reads as a whole. */
function wholeReads(plan: unknown): readonly unknown[] {
  if (typeof plan !== 'object' || plan === null) return []
  const own = Reflect.get(plan, 'Node Type') === 'Seq Scan' ? [Reflect.get(plan, 'Relation Name')] : []
  return [...own, ...Object.values(plan).flatMap((part) => (Array.isArray(part) ? part.flatMap(wholeReads) : wholeReads(part)))]
}

it('no table of the catalog is read as a whole to open a vault, new or founded, in a database of many tables', async () => {
  for (let opening = 0; opening < 2; opening++) await (await openPeople(postgresStorage({ pool }))).close()
  const reads = [...new Set(seen.filter((text) => LARGE.some((name) => text.includes(name))))]
  expect(reads.length).toBeGreaterThan(0)
  // Plans as in a database where each has a million rows.
  await admin.query('update pg_class set reltuples = 1000000 where relname = any($1)', [LARGE])
  const whole = async (text: string) => wholeReads((await admin.query(`explain (format json) ${text}`)).rows[0])
  expect((await Promise.all(reads.map(whole))).flat().filter((name) => LARGE.includes(String(name)))).toEqual([])
  // What is read as a whole is found.
  expect(await whole(`select relname from pg_class where relkind = 'r'`)).toEqual(['pg_class'])
})
