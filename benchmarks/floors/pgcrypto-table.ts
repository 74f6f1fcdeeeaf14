/** Peer: encryption inside Postgres by pgcrypto, each cell under AES-256 with a fresh random vector; no tokens. */
import type pg from 'pg'
import type { Batch } from '../people.ts'
import { cellsOf, dropSchema } from './postgres-plaintext.ts'

export interface PgcryptoTable {
  /** One named statement for the whole batch. */
  insert(batch: Batch): Promise<void>
  /** Removes the table. */
  close(): Promise<void>
}

const WIDTH = 6

/** `name` is a schema of its own, made here. Answers undefined where the server has no pgcrypto. */
export async function openPgcryptoTable(pool: pg.Pool, name: string): Promise<PgcryptoTable | undefined> {
  const { rowCount } = await pool.query("select from pg_available_extensions where name = 'pgcrypto'")
  if (rowCount === 0) return undefined
  await pool.query('create extension if not exists pgcrypto')
  await pool.query(`create schema ${name}`)
  await pool.query(
    `create table ${name}.people (id uuid primary key default gen_random_uuid(), name bytea, email bytea, phone bytea, address bytea, ssn bytea, city bytea)`,
  )
  const key = Buffer.alloc(32, 9)
  const insert = `insert into ${name}.people (name, email, phone, address, ssn, city)`
  return {
    async insert(batch) {
      const cells = batch.flatMap(({ fields }) => cellsOf(fields))
      const text = `${insert} ${sealingSelect(batch.length)}`
      await pool.query({ name: `${name}_insert_${batch.length}`, text, values: [key, ...cells] })
    },
    close: () => dropSchema(pool, name),
  }
}

const selectCache = new Map<number, string>()

/** Selects so many rows of parameters, each cell encrypted and led by its vector. */
function sealingSelect(rows: number): string {
  const known = selectCache.get(rows)
  if (known !== undefined) return known
  const tuple = (row: number) => `(${Array.from({ length: WIDTH }, (_, cell) => `$${row * WIDTH + cell + 2}::text`).join(', ')})`
  const values = Array.from({ length: rows }, (_, row) => tuple(row)).join(', ')
  const sealed = Array.from({ length: WIDTH }, (_, cell) => sealCall(`c${cell}`)).join(', ')
  const names = Array.from({ length: WIDTH }, (_, cell) => `c${cell}`).join(', ')
  const made = `select ${sealed} from (values ${values}) as v (${names})`
  selectCache.set(rows, made)
  return made
}

/** The vector must be drawn once for each cell and used twice. */
function sealCall(cell: string): string {
  return `(select iv || encrypt_iv(convert_to(v.${cell}, 'UTF8'), $1::bytea, iv, 'aes-cbc/pad:pkcs') from (select gen_random_bytes(16) as iv, v.${cell} offset 0) as drawn)`
}
