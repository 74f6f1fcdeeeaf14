/** What is typed into a form, as the values that are sent: digits are kept, and nothing turns into null by itself. */
import { expect, it } from 'vitest'
import type { ColumnDescription } from '../../src/console/app/contract.ts'
import { errorsByColumn, valuesOf } from '../../src/console/pages/record/draft.ts'

const column = (name: string, type: string) => ({ name, type }) as ColumnDescription
const COLUMNS = ['STRING', 'INTEGER', 'DECIMAL', 'FLOAT', 'BOOL', 'DATE', 'JSON', 'ARRAY'].map((type) =>
  column(type.toLowerCase(), type),
)

it('sends what was written alone, each as its column takes it', () => {
  const draft = {
    string: ' A*** ',
    integer: ' 9007199254740993 ',
    decimal: '1234567890123456.78',
    float: '0.5',
    bool: 'false',
    date: null,
    json: '{"a":[1]}',
  }
  expect(valuesOf(COLUMNS, draft)).toEqual({
    fields: {
      string: ' A*** ',
      integer: '9007199254740993',
      decimal: '1234567890123456.78',
      float: 0.5,
      bool: false,
      date: null,
      json: { a: [1] },
    },
  })
  expect(valuesOf(COLUMNS, {})).toEqual({ fields: {} })
})

it.each(['', ' ', 'x', 'NaN', 'Infinity', '1e999'])('refuses %j as a number, which JSON would send as null', (float) => {
  expect(valuesOf(COLUMNS, { float })).toEqual({ errors: { float: 'This is not a number.' } })
})

it('says what is not JSON without repeating it', () => {
  expect(valuesOf(COLUMNS, { json: 'secret', array: '[' })).toEqual({
    errors: { json: 'This is not JSON.', array: 'This is not JSON.' },
  })
})

it('finds the fields that an error of the vault names', () => {
  const message = 'Update failed.'
  const details = [{ table: 't', column: 'float' }, undefined, { column: 'hidden' }]
  expect(errorsByColumn({ message, details }, COLUMNS)).toEqual({ float: message })
  expect(errorsByColumn({ message, details: [{ line: 1 }] }, COLUMNS)).toBeUndefined()
})
