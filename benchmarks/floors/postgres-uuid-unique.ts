/** Floor: what users have today on Postgres, plaintext keyed by random UUIDs with one unique, equally random text column. */
import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import type { Batch } from '../people.ts'
import { cellsOf, dropSchema, placesFor } from './postgres-plaintext.ts'

export interface PostgresUuidUnique {
  /** One named statement for the whole batch. */
  insert(batch: Batch): Promise<void>
  /** Removes the table. */
  close(): Promise<void>
}

/** `name` is a schema of its own, made here. */
export async function openPostgresUuidUnique(pool: pg.Pool, name: string): Promise<PostgresUuidUnique> {
  await pool.query(`create schema ${name}`)
  await pool.query(
    `create table ${name}.people (id text primary key, name text, email text unique, phone text, address text, ssn text, city text)`,
  )
  const insert = `insert into ${name}.people (id, name, email, phone, address, ssn, city) values`
  return {
    async insert(batch) {
      const cells = batch.flatMap(({ fields }) => [randomUUID(), ...cellsOf(fields)])
      await pool.query({ name: `${name}_insert_${batch.length}`, text: `${insert} ${placesFor(batch.length, 7)}`, values: cells })
    },
    close: () => dropSchema(pool, name),
  }
}
