/** Floor: the bare driver on a plaintext Postgres table, many rows to one statement of VALUES. */
import type pg from 'pg'
import type { Batch, Person } from '../people.ts'

export interface PostgresPlaintext {
  /** One named statement for the whole batch. */
  insert(batch: Batch): Promise<void>
  /** One named statement, committing by itself. */
  insertOne(person: Person): Promise<void>
  /** One read by a list of primary keys, or of the only one. */
  get(ids: readonly number[]): Promise<readonly Person[]>
  /** The same of one column. */
  getSsn(ids: readonly number[]): Promise<readonly string[]>
  bytesOnDisk(): Promise<number>
  /** Removes the table. */
  close(): Promise<void>
}

const COLUMNS = 'name, email, phone, address, ssn, city'

/** `name` is a schema of its own, made here. */
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
        text: `${insert} ${placesFor(batch.length, 6)}`,
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
      return Number(found(rows[0]).bytes)
    },
    close: () => dropSchema(pool, name),
  }
}

const placesCache = new Map<string, string>()

/** `($1, $2), ($3, $4)` for so many rows of so many columns. */
export function placesFor(rows: number, width: number): string {
  const key = `${rows} ${width}`
  const known = placesCache.get(key)
  if (known !== undefined) return known
  const tuple = (row: number) => `(${Array.from({ length: width }, (_, column) => `$${row * width + column + 1}`).join(', ')})`
  const made = Array.from({ length: rows }, (_, row) => tuple(row)).join(', ')
  placesCache.set(key, made)
  return made
}

export function cellsOf(person: Person): string[] {
  return [person.name, person.email, person.phone, person.address, person.ssn, person.city]
}

/** Removes a schema and all it holds. */
export async function dropSchema(pool: pg.Pool, name: string): Promise<void> {
  await pool.query(`drop schema ${name} cascade`)
}

/** Rows come in any order; a caller wants them as he asked. */
function inOrder<R extends { readonly id: string }>(ids: readonly number[], rows: readonly R[]): R[] {
  const byId = new Map(rows.map((row) => [Number(row.id), row]))
  return ids.map((id) => found(byId.get(id)))
}

function found<T>(row: T | undefined): T {
  if (row === undefined) throw new Error('the floor asked for a row that is not there')
  return row
}
