/** Baseline: a plaintext SQLite table with random UUID keys and one unique text column with random values. */
import { randomUUID } from 'node:crypto'
import type { Batch } from '../fixtures/people.ts'
import { openSqlite, type Purpose } from './open-sqlite.ts'

export interface SqliteUuidUnique {
  /** Inserts the batch in one transaction. Returns the keys. */
  insert(batch: Batch): readonly string[]
  close(): void
}

export function openSqliteUuidUnique(filename: string, purpose: Purpose = 'measuring'): SqliteUuidUnique {
  const connection = openSqlite(filename, purpose)
  connection.exec(
    'create table if not exists people (id text primary key, name text, email text unique, phone text, address text, ssn text, city text)',
  )
  const insert = connection.prepare<[string, string, string, string, string, string, string]>(
    'insert into people (id, name, email, phone, address, ssn, city) values (?, ?, ?, ?, ?, ?, ?)',
  )
  const insertBatch = connection.transaction((batch: Batch): readonly string[] => {
    return batch.map(({ fields }) => {
      const id = randomUUID()
      insert.run(id, fields.name, fields.email, fields.phone, fields.address, fields.ssn, fields.city)
      return id
    })
  })
  return { insert: insertBatch, close: () => connection.close() }
}
