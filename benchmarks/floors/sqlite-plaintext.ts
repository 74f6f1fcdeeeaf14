/** Floor: the bare driver on a plaintext table keyed by rowid, everything prepared. Nothing a vault does is done. */
import type { Batch, Person } from '../people.ts'
import { openSqlite, type Purpose } from './open-sqlite.ts'

export interface SqlitePlaintext {
  /** One transaction. Answers the row ids. */
  insert(batch: Batch): readonly number[]
  /** One transaction a record: the driver commits by itself. */
  insertOne(person: Person): void
  /** One point read for each id. */
  get(ids: readonly number[]): readonly Person[]
  /** One point read of one column for each id. */
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
    const ids: number[] = new Array(batch.length)
    batch.forEach(({ fields }, index) => {
      ids[index] = Number(insertPerson(fields).lastInsertRowid)
    })
    return ids
  })
  return {
    insert: insertBatch,
    insertOne: insertPerson,
    get: (ids) => ids.map((id) => found(row.get(id))),
    getSsn: (ids) => ids.map((id) => found(ssn.get(id))),
    close: () => connection.close(),
  }
}

function found<T>(row: T | undefined): T {
  if (row === undefined) throw new Error('the floor asked for a row that is not there')
  return row
}
