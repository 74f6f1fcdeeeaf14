/** Floor: what users have today, a plaintext table keyed by random UUIDs with one unique, equally random text column. */
import { randomUUID } from 'node:crypto'
import type { Batch } from '../people.ts'
import { openSqlite, type Purpose } from './open-sqlite.ts'

export interface SqliteUuidUnique {
  /** One transaction. Answers the keys. */
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
    const ids = batch.map(() => randomUUID())
    batch.forEach(({ fields }, index) => {
      insert.run(ids[index] ?? '', fields.name, fields.email, fields.phone, fields.address, fields.ssn, fields.city)
    })
    return ids
  })
  return { insert: insertBatch, close: () => connection.close() }
}
