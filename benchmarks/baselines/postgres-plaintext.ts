/** Baseline: the bare driver on a plaintext Postgres table, with one VALUES statement per batch. */
import type pg from 'pg'
import { at, required } from '../../src/core/util/lists.ts'
import type { Batch, Person } from '../fixtures/people.ts'

export interface PostgresPlaintext {
  /** Inserts the whole batch by one named statement. */
  insert(batch: Batch): Promise<void>
  /** Inserts one row by a named statement with its own commit. */
  insertOne(person: Person): Promise<void>
  /** Reads rows by primary key in one statement, in the order given. */
  get(ids: readonly number[]): Promise<readonly Person[]>
  /** Reads one column in the same way. */
  getSsn(ids: readonly number[]): Promise<readonly string[]>
  bytesOnDisk(): Promise<number>
  /** Drops the schema. */
  close(): Promise<void>
}

const COLUMNS = 'name, email, phone, address, ssn, city'

/** Creates the schema `name`. */
export async function openPostgresPlaintext(pool: pg.Pool, name: string): Promise<PostgresPlaintext> {
  const table = `${name}.people`
  await pool.query(`create schema ${name}`)
  await pool.query(
    `create table ${table} (id bigint generated always as identity primary key, name text, email text, phone text, address text, ssn text, city text)`,
  )
  const insert = `insert into ${table} (${COLUMNS}) values`
  const one = { name: `${name}_insert`, text: `${insert} ($1, $2, $3, $4, $5, $6)` }
  const point = { name: `${name}_point`, text: `select ${COLUMNS} from ${table} where id = $1` }
  const list = { name: `${name}_list`, text: `select id, ${COLUMNS} from ${table} where id = any($1)` }
  const ssns = { name: `${name}_ssn`, text: `select id, ssn from ${table} where id = any($1)` }
  return {
    async insert(batch) {
      await pool.query({
        name: `${name}_insert_${batch.length}`,
        text: `${insert} ${tuplesFor(batch.length, 6)}`,
        values: batch.flatMap(({ fields }) => cellsOf(fields)),
      })
    },
    async insertOne(person) {
      await pool.query({ ...one, values: cellsOf(person) })
    },
    async get(ids) {
      if (ids.length === 1) return (await pool.query<Person>({ ...point, values: ids.slice() })).rows
      const { rows } = await pool.query<Person & { id: string }>({ ...list, values: [ids] })
      return inOrder(ids, rows)
    },
    async getSsn(ids) {
      const { rows } = await pool.query<{ id: string; ssn: string }>({ ...ssns, values: [ids] })
      return inOrder(ids, rows).map((row) => row.ssn)
    },
    async bytesOnDisk() {
      const { rows } = await pool.query<{ bytes: string }>('select pg_total_relation_size($1::regclass) as bytes', [table])
      return Number(at(rows, 0).bytes)
    },
    close: () => dropSchema(pool, name),
  }
}

const tuplesCache = new Map<string, string>()

/** Returns `($1, $2), ($3, $4)` for `rows` rows of `width` columns. */
export function tuplesFor(rows: number, width: number): string {
  const key = `${rows} ${width}`
  const known = tuplesCache.get(key)
  if (known !== undefined) return known
  const tuple = (row: number) => `(${Array.from({ length: width }, (_, column) => `$${row * width + column + 1}`).join(', ')})`
  const made = Array.from({ length: rows }, (_, row) => tuple(row)).join(', ')
  tuplesCache.set(key, made)
  return made
}

export function cellsOf(person: Person): string[] {
  return [person.name, person.email, person.phone, person.address, person.ssn, person.city]
}

/** Drops a schema with everything in it. */
export async function dropSchema(pool: pg.Pool, name: string): Promise<void> {
  await pool.query(`drop schema ${name} cascade`)
}

/** Returns the rows in the order of `ids`. Postgres returns them in any order. */
function inOrder<R extends { readonly id: string }>(ids: readonly number[], rows: readonly R[]): R[] {
  const byId = new Map(rows.map((row) => [Number(row.id), row]))
  return ids.map((id) => required(byId.get(id), `row ${id}`))
}
