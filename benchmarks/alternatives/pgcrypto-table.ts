/** Alternative: encryption inside Postgres by pgcrypto, without tokens: each cell under a key, or by the password-based functions. */
import type pg from 'pg'
import { cellsOf, dropSchema } from '../baselines/postgres-plaintext.ts'
import type { Batch } from '../fixtures/people.ts'

export interface PgcryptoTable {
  /** Inserts the whole batch by one named statement. */
  insert(batch: Batch): Promise<void>
  /** Drops the schema. */
  close(): Promise<void>
}

const WIDTH = 6

/**
 * `raw`: AES-256-CBC under one key with a random IV, which authenticates nothing. `password`: `pgp_sym_encrypt` with its defaults, the form that
 * the manual of pgcrypto recommends, which derives a key for each cell and detects changes.
 */
export type PgcryptoForm = 'raw' | 'password'

/** Creates the schema `name`. Returns undefined if the server has no pgcrypto. */
export async function openPgcryptoTable(pool: pg.Pool, name: string, form: PgcryptoForm): Promise<PgcryptoTable | undefined> {
  const { rowCount } = await pool.query("select from pg_available_extensions where name = 'pgcrypto'")
  if (rowCount === 0) return undefined
  await pool.query('create extension if not exists pgcrypto')
  await pool.query(`create schema ${name}`)
  await pool.query(
    `create table ${name}.people (id uuid primary key default gen_random_uuid(), name bytea, email bytea, phone bytea, address bytea, ssn bytea, city bytea)`,
  )
  const key = form === 'raw' ? Buffer.alloc(32, 9) : 'TEST_SECRET of the alternative'
  const insert = `insert into ${name}.people (name, email, phone, address, ssn, city)`
  return {
    async insert(batch) {
      const cells = batch.flatMap(({ fields }) => cellsOf(fields))
      const text = `${insert} ${sealingSelect(batch.length, form)}`
      await pool.query({ name: `${name}_insert_${batch.length}`, text, values: [key, ...cells] })
    },
    close: () => dropSchema(pool, name),
  }
}

const selectCache = new Map<string, string>()

/** Returns a SELECT of `rows` rows of parameters, each cell encrypted and preceded by its IV. */
function sealingSelect(rows: number, form: PgcryptoForm): string {
  const id = `${rows} ${form}`
  const known = selectCache.get(id)
  if (known !== undefined) return known
  const tuple = (row: number) => `(${Array.from({ length: WIDTH }, (_, cell) => `$${row * WIDTH + cell + 2}::text`).join(', ')})`
  const values = Array.from({ length: rows }, (_, row) => tuple(row)).join(', ')
  const sealed = Array.from({ length: WIDTH }, (_, cell) => SEAL_CALLS[form](`c${cell}`)).join(', ')
  const names = Array.from({ length: WIDTH }, (_, cell) => `c${cell}`).join(', ')
  const made = `select ${sealed} from (values ${values}) as v (${names})`
  selectCache.set(id, made)
  return made
}

const SEAL_CALLS: Readonly<Record<PgcryptoForm, (cell: string) => string>> = {
  // `offset 0` makes Postgres draw the IV once per cell, although it is used twice.
  raw: (cell) =>
    `(select iv || encrypt_iv(convert_to(v.${cell}, 'UTF8'), $1::bytea, iv, 'aes-cbc/pad:pkcs') from (select gen_random_bytes(16) as iv, v.${cell} offset 0) as drawn)`,
  password: (cell) => `pgp_sym_encrypt(v.${cell}, $1::text)`,
}
