/** Floor: plaintext customers in Postgres, asked through named statements of the bare driver. */
import type pg from 'pg'
import type { CustomerTable, Found } from './customers.ts'
import { dropSchema, placesFor } from './postgres-plaintext.ts'

/** `name` is a schema of its own, made here; closing removes it. */
export async function openPostgresCustomers(pool: pg.Pool, name: string): Promise<CustomerTable> {
  const [customers, accounts] = [`${name}.customers`, `${name}.accounts`]
  await pool.query(`create schema ${name};
    create table ${customers} (id bigint generated always as identity primary key,
      name text, email text, phone text, address text, ssn text, city text, balance bigint, spent bigint);
    create table ${accounts} (id bigint generated always as identity primary key, email text, ssn text);
    create index on ${customers} (email)`)
  const ask = async <R extends pg.QueryResultRow>(statement: string, text: string, values: unknown[]): Promise<R[]> =>
    (await pool.query<R>({ name: `${name}_${statement}`, text, values })).rows
  const count = async (statement: string, text: string, values: unknown[]): Promise<number> =>
    Number((await ask<{ count: string }>(statement, text, values))[0]?.count)
  return {
    name: 'plaintext, indexed, prepared',
    async insert(people) {
      const cells = people.flatMap((one) => [
        ...[one.name, one.email, one.phone, one.address, one.ssn, one.city],
        ...[one.balance, one.spent],
      ])
      const into = `insert into ${customers} (name, email, phone, address, ssn, city, balance, spent) values`
      await ask(`insert_${people.length}`, `${into} ${placesFor(people.length, 8)}`, cells)
    },
    async insertAccounts(people) {
      const text = `insert into ${accounts} (email, ssn) values ${placesFor(people.length, 2)}`
      const cells = people.flatMap(({ email, ssn }) => [email, ssn])
      await ask(`account_${people.length}`, text, cells)
    },
    find: async (email) => (await ask<Found>('find', `select name, city from ${customers} where email = $1`, [email]))[0],
    async countNames(part) {
      const rows = await ask<{ name: string }>('names', `select name from ${customers}`, [])
      return rows.reduce((sum, row) => sum + (row.name.includes(part) ? 1 : 0), 0)
    },
    async totals() {
      const text = `select sum(balance) as sum, avg(balance) as mean, count(*) as count from ${customers}`
      const [row] = await ask<{ sum: string; mean: string; count: string }>('totals', text, [])
      return { sum: Number(row?.sum), mean: Number(row?.mean), count: Number(row?.count) }
    },
    countAbove: (sum) => count('above', `select count(*) from ${customers} where balance > $1`, [sum]),
    countJoined: (column) =>
      count(`join_${column}`, `select count(*) from ${accounts} a join ${customers} c on a.${column} = c.${column}`, []),
    close: () => dropSchema(pool, name),
  }
}
