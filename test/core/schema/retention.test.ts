/** Rules of retention: what a schema refuses, with table and column. */
import { expect, it } from 'vitest'
import { checkSchema } from '../../../src/core/schema/define-schema.ts'
import { column, defineSchema } from '../../../src/index.ts'

const TABLES = {
  orders: {
    created: column.datetime({ required: true }),
    due: column.date({ encrypted: false }),
    iban: column.string(),
    scan: column.file(),
    code: column.string({ token: 'transient' }),
  },
}

it('accepts periods by a column and by birth, of tables and columns', () => {
  const rules = {
    retention: {
      orders: { expiresAfter: 'P7Y', from: 'created' },
      'orders.iban': { expiresAfter: 'PT12H', becomes: 'null' },
      'orders.due': { expiresAfter: 'P1M2W', from: 'created', becomes: 'null' },
    },
  } as const
  expect(defineSchema(TABLES, rules).rules).toEqual(rules)
})

it.each([
  ['customers', { expiresAfter: 'P1Y' }, { table: 'customers' }, 'table that the schema does not have'],
  ['orders.x', { expiresAfter: 'P1Y', becomes: 'null' }, { table: 'orders', column: 'x' }, 'column that the table does not have'],
  ['orders.iban.x', { expiresAfter: 'P1Y' }, { table: 'orders', column: 'iban' }, 'names no table or column'],
  ['orders', { expiresAfter: '7 years' }, { table: 'orders' }, 'such as P7Y'],
  ['orders', { expiresAfter: 'PT5M' }, { table: 'orders' }, 'such as P7Y'],
  ['orders', { expiresAfter: 'P1Y', becomes: 'null' }, { table: 'orders' }, 'Remove it'],
  ['orders', { expiresAfter: 'P1Y', from: 'iban' }, { table: 'orders' }, 'no DATE or DATETIME'],
  ['orders', { expiresAfter: 'P1Y', from: 'constructor' }, { table: 'orders' }, 'no DATE or DATETIME'],
  ['orders.iban', { expiresAfter: 'P1Y' }, { table: 'orders', column: 'iban' }, 'cannot be deleted'],
  ['orders.created', { expiresAfter: 'P1Y', becomes: 'null' }, { table: 'orders', column: 'created' }, 'required column'],
  ['orders.scan', { expiresAfter: 'P1Y', becomes: 'null' }, { table: 'orders', column: 'scan' }, 'column of files'],
  ['orders.code', { expiresAfter: 'P1Y', becomes: 'null' }, { table: 'orders', column: 'code' }, 'ttlMinutes'],
  ['orders.due', { expiresAfter: 'P1Y', from: 'due', becomes: 'null' }, { table: 'orders', column: 'due' }, 'that it empties'],
] as const)('refuses %s with %o', (rule, definition, detail, words) => {
  const refused = { code: 'invalid_request', details: [detail], message: expect.stringContaining(words) }
  expect(() => checkSchema(TABLES, { retention: { [rule]: definition } })).toThrow(expect.objectContaining(refused))
})
