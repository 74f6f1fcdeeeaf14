/** Floor: the bare driver on a plaintext table with an indexed text column of random tokens. Nothing is sealed, nothing is checked. */
import { randomUUID } from 'node:crypto'
import { openSqlite, type Purpose } from './open-sqlite.ts'

export interface SqliteTokenColumn {
  /** One transaction. Answers the tokens. */
  insert(values: readonly string[]): readonly string[]
  /** The driver commits by itself. Answers the token. */
  insertOne(value: string): string
  /** One point read by token for each. */
  resolve(tokens: readonly string[]): readonly string[]
  close(): void
}

export function openSqliteTokenColumn(filename: string, purpose: Purpose = 'measuring'): SqliteTokenColumn {
  const connection = openSqlite(filename, purpose)
  connection.exec('create table if not exists cards (id integer primary key, number text, token text)')
  connection.exec('create unique index if not exists cards_token on cards (token)')
  const insert = connection.prepare<[string, string]>('insert into cards (number, token) values (?, ?)')
  const number = connection.prepare<[string], string>('select number from cards where token = ?').pluck()
  const insertOne = (value: string): string => {
    const token = randomUUID()
    insert.run(value, token)
    return token
  }
  return {
    insert: connection.transaction((values: readonly string[]): readonly string[] => values.map(insertOne)),
    insertOne,
    resolve: (tokens) => tokens.map((token) => found(number.get(token))),
    close: () => connection.close(),
  }
}

function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the floor asked for a token that is not there')
  return value
}
