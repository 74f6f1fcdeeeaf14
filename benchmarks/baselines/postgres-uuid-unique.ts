/** Baseline: a plaintext Postgres table with random UUID keys and one unique text column with random values. */
import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import type { Batch } from '../fixtures/people.ts'
import { cellsOf, dropSchema, tuplesFor } from './postgres-plaintext.ts'

export interface PostgresUuidUnique {
  /** Inserts the whole batch by one named statement. */
  insert(batch: Batch): Promise<void>
  /** Drops the schema. */
  close(): Promise<void>
}

/** Creates the schema `name`. */
export async function openPostgresUuidUnique(pool: pg.Pool, name: string): Promise<PostgresUuidUnique> {
  await pool.query(`create schema ${name}`)
  await pool.query(
    `create table ${name}.people (id text primary key, name text, email text unique, phone text, address text, ssn text, city text)`,
  )
  const insert = `insert into ${name}.people (id, name, email, phone, address, ssn, city) values`
  return {
    async insert(batch) {
      const cells = batch.flatMap(({ fields }) => [randomUUID(), ...cellsOf(fields)])
      await pool.query({ name: `${name}_insert_${batch.length}`, text: `${insert} ${tuplesFor(batch.length, 7)}`, values: cells })
    },
    close: () => dropSchema(pool, name),
  }
}
