/** Baseline: the bare driver on a plaintext SQLite table keyed by rowid, with prepared statements. */
import { required } from '../../src/core/util/lists.ts'
import type { Batch, Person } from '../fixtures/people.ts'
import { openSqlite, type Purpose } from './open-sqlite.ts'

export interface SqlitePlaintext {
  /** Inserts the batch in one transaction. Returns the row ids. */
  insert(batch: Batch): readonly number[]
  /** Inserts one row with its own commit. */
  insertOne(person: Person): void
  /** Reads rows by one point read per id, in the order given. */
  get(ids: readonly number[]): readonly Person[]
  /** Reads one column by one point read per id. */
  getSsn(ids: readonly number[]): readonly string[]
  close(): void
}

export function openSqlitePlaintext(filename: string, purpose: Purpose = 'measuring'): SqlitePlaintext {
  const connection = openSqlite(filename, purpose)
  connection.exec(
    'create table if not exists people (id integer primary key, name text, email text, phone text, address text, ssn text, city text)',
  )
  const insert = connection.prepare<[string, string, string, string, string, string]>(
    'insert into people (name, email, phone, address, ssn, city) values (?, ?, ?, ?, ?, ?)',
  )
  const row = connection.prepare<[number], Person>('select name, email, phone, address, ssn, city from people where id = ?')
  const ssn = connection.prepare<[number], string>('select ssn from people where id = ?').pluck()
  const insertPerson = (person: Person) =>
    insert.run(person.name, person.email, person.phone, person.address, person.ssn, person.city)
  const insertBatch = connection.transaction((batch: Batch): readonly number[] => {
    return batch.map(({ fields }) => Number(insertPerson(fields).lastInsertRowid))
  })
  return {
    insert: insertBatch,
    insertOne: insertPerson,
    get: (ids) => ids.map((id) => required(row.get(id), `row ${id}`)),
    getSsn: (ids) => ids.map((id) => required(ssn.get(id), `row ${id}`)),
    close: () => connection.close(),
  }
}
