/** Baseline: plaintext customers in SQLite, queried through prepared statements of the bare driver. */
import { required } from '../../src/core/util/lists.ts'
import type { Customer } from '../fixtures/people.ts'
import type { CustomerTable, Found, Totals } from './customers.ts'
import { type Connection, openSqlite, type Purpose } from './open-sqlite.ts'

/** A table of customers in the same process. */
export interface SqliteCustomers extends CustomerTable {
  find(email: string): Found | undefined
  /** Parses and plans a statement in SQLite's dialect. */
  prepare(sql: string): unknown
}

const TOTALS = 'the row of an aggregate'

const TABLES = `
create table if not exists customers (
  id integer primary key, name text, email text, phone text, address text, ssn text, city text, balance integer, spent integer);
create table if not exists accounts (id integer primary key, email text, ssn text);
create index if not exists customers_email on customers (email)`

export function openSqliteCustomers(filename: string, purpose: Purpose = 'measuring'): SqliteCustomers {
  const connection = openSqlite(filename, purpose)
  connection.exec(TABLES)
  const one = connection.prepare<[string], Found>('select name, city from customers where email = ?')
  const names = connection.prepare<[], string>('select name from customers').pluck()
  const totals = connection.prepare<[], Totals>(
    'select sum(balance) as sum, avg(balance) as mean, count(*) as count from customers',
  )
  const above = connection.prepare<[number], number>('select count(*) from customers where balance > ?').pluck()
  const joined = {
    email: connection
      .prepare<[], number>('select count(*) from accounts join customers on accounts.email = customers.email')
      .pluck(),
    ssn: connection.prepare<[], number>('select count(*) from accounts join customers on accounts.ssn = customers.ssn').pluck(),
  }
  return {
    name: 'plaintext, indexed, prepared',
    ...insertsInto(connection),
    find: (email) => one.get(email),
    countNames: (part) => names.all().reduce((count, name) => count + (name.includes(part) ? 1 : 0), 0),
    totals: () => required(totals.get(), TOTALS),
    countAbove: (sum) => required(above.get(sum), TOTALS),
    countJoined: (column) => required(joined[column].get(), TOTALS),
    prepare: (sql) => connection.prepare(sql),
    close: () => {
      connection.close()
    },
  }
}

function insertsInto(connection: Connection) {
  const insert = connection.prepare<[string, string, string, string, string, string, number, number]>(
    'insert into customers (name, email, phone, address, ssn, city, balance, spent) values (?, ?, ?, ?, ?, ?, ?, ?)',
  )
  const insertAccount = connection.prepare<[string, string]>('insert into accounts (email, ssn) values (?, ?)')
  return {
    insert: connection.transaction((customers: readonly Customer[]): void => {
      for (const { name, email, phone, address, ssn, city, balance, spent } of customers)
        insert.run(name, email, phone, address, ssn, city, balance, spent)
    }),
    insertAccounts: connection.transaction((customers: readonly Customer[]): void => {
      for (const { email, ssn } of customers) insertAccount.run(email, ssn)
    }),
  }
}
