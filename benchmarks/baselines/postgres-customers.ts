/** Baseline: plaintext customers in Postgres, queried through named statements of the bare driver. */
import type pg from 'pg'
import { at } from '../../src/core/util/lists.ts'
import type { CustomerTable, Found } from './customers.ts'
import { dropSchema, tuplesFor } from './postgres-plaintext.ts'

/** Creates the schema `name`. `close` drops it. */
export async function openPostgresCustomers(pool: pg.Pool, name: string): Promise<CustomerTable> {
  const [customers, accounts] = [`${name}.customers`, `${name}.accounts`]
  await pool.query(`create schema ${name};
    create table ${customers} (id bigint generated always as identity primary key,
      name text, email text, phone text, address text, ssn text, city text, balance bigint, spent bigint);
    create table ${accounts} (id bigint generated always as identity primary key, email text, ssn text);
    create index on ${customers} (email)`)
  const select = async <R extends pg.QueryResultRow>(statement: string, text: string, values: unknown[]): Promise<R[]> =>
    (await pool.query<R>({ name: `${name}_${statement}`, text, values })).rows
  const count = async (statement: string, text: string, values: unknown[]): Promise<number> =>
    Number(at(await select<{ count: string }>(statement, text, values), 0).count)
  return {
    name: 'plaintext, indexed, prepared',
    async insert(people) {
      const cells = people.flatMap((one) => [
        ...[one.name, one.email, one.phone, one.address, one.ssn, one.city],
        ...[one.balance, one.spent],
      ])
      const into = `insert into ${customers} (name, email, phone, address, ssn, city, balance, spent) values`
      await select(`insert_${people.length}`, `${into} ${tuplesFor(people.length, 8)}`, cells)
    },
    async insertAccounts(people) {
      const text = `insert into ${accounts} (email, ssn) values ${tuplesFor(people.length, 2)}`
      const cells = people.flatMap(({ email, ssn }) => [email, ssn])
      await select(`account_${people.length}`, text, cells)
    },
    find: async (email) => (await select<Found>('find', `select name, city from ${customers} where email = $1`, [email]))[0],
    async countNames(part) {
      const rows = await select<{ name: string }>('names', `select name from ${customers}`, [])
      return rows.reduce((sum, row) => sum + (row.name.includes(part) ? 1 : 0), 0)
    },
    async totals() {
      const text = `select sum(balance) as sum, avg(balance) as mean, count(*) as count from ${customers}`
      const row = at(await select<{ sum: string; mean: string; count: string }>('totals', text, []), 0)
      return { sum: Number(row.sum), mean: Number(row.mean), count: Number(row.count) }
    },
    countAbove: (sum) => count('above', `select count(*) from ${customers} where balance > $1`, [sum]),
    countJoined: (column) =>
      count(`join_${column}`, `select count(*) from ${accounts} a join ${customers} c on a.${column} = c.${column}`, []),
    close: () => dropSchema(pool, name),
  }
}
