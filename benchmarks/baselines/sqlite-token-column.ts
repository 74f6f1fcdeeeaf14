/** Baseline: the bare driver on a plaintext SQLite table with an indexed text column of random tokens. */
import { randomUUID } from 'node:crypto'
import { required } from '../../src/core/util/lists.ts'
import { openSqlite, type Purpose } from './open-sqlite.ts'

export interface SqliteTokenColumn {
  /** Inserts the values in one transaction. Returns their tokens. */
  insert(values: readonly string[]): readonly string[]
  /** Inserts one value with its own commit. Returns its token. */
  insertOne(value: string): string
  /** Reads values by one point read per token, in the order given. */
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
    resolve: (tokens) => tokens.map((token) => required(number.get(token), 'the row of a token')),
    close: () => connection.close(),
  }
}
