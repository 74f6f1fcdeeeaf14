/** The types of queries: their arguments, and the fields of their records. The compiler checks them; nothing is asked. */
import { expectTypeOf, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { type Fields, type QueryRecord, type SqlQuery, sql } from '../../../src/index.ts'
import { openClients } from '../../support/audit/audited-clients.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

interface Row {
  readonly name: string
  readonly pay: number | null
}

it('a query has the types that its caller claims, and no others', async () => {
  const vault = await openClients(memoryStorage())
  const { query } = vault.as(OWNER)
  const text = 'SELECT name, salary AS pay FROM clients WHERE salary > $1 OR country = $2'
  const values = [5n, null] as const
  const typed = await query<Row>(text, values, { idName: 'id' })
  expectTypeOf(typed.records).toEqualTypeOf<QueryRecord<Row>[]>()
  expectTypeOf(typed.records[0]?.fields.pay).toEqualTypeOf<number | null | undefined>()
  expectTypeOf<keyof QueryRecord<Row>['levels']>().toEqualTypeOf<'name' | 'pay'>()
  expectTypeOf(await query<Row>(sql`SELECT name, salary AS pay FROM clients`)).toEqualTypeOf(typed)
  expectTypeOf((await query('SELECT name FROM clients', { onLowered: 'throw' })).records).toEqualTypeOf<QueryRecord<Fields>[]>()
  expectTypeOf<QueryRecord['levels'][string]>().toEqualTypeOf<'MASKED' | 'REDACTED' | 'HIDDEN' | undefined>()
  expectTypeOf(sql`${sql.join([new Date(0), 'a', sql`b`], sql` OR `)}`).toEqualTypeOf<SqlQuery>()
  const refused = () => [
    // @ts-expect-error a list is not a value
    query(text, [['Ann'], 1]),
    // @ts-expect-error undefined is not a value
    query(text, [undefined, 1]),
    // @ts-expect-error a query made by sql has its values
    query(sql`SELECT name FROM clients`, [1]),
    // @ts-expect-error only sql makes such an object
    query({ text: 'SELECT name FROM clients', values: [] }),
    // @ts-expect-error a copy is not made by sql
    query({ text: 'SELECT name FROM clients', values: sql``.values }),
    // @ts-expect-error undefined is not a value
    sql`SELECT name FROM clients WHERE name = ${undefined}`,
    // @ts-expect-error a text is not a part of a query
    sql.join([sql`a`, sql`b`], ', '),
    // @ts-expect-error a plan is for a caller
    vault.explainQuery(text, values),
  ]
  expectTypeOf(refused).toBeFunction()
  await vault.close()
})
