/** Tests the faults of queries: code by kind, line and column, and names that the audit trail masks. */
import { describe, expect, it } from 'vitest'
import { say, words } from '../../../src/core/errors.ts'
import { LanguageError, type LanguageErrorKind } from '../../../src/core/expressions/language-error.ts'
import { toQueryError, unknownTableError, withQueryErrors } from '../../../src/core/sql/scope.ts'

const KINDS: readonly (readonly [kind: LanguageErrorKind, code: string])[] = [
  ['syntax', 'invalid_request'],
  ['name', 'invalid_request'],
  ['unsupported', 'unsupported'],
  ['limit', 'limit_exceeded'],
  ['range', 'out_of_range'],
  ['type', 'unprocessable'],
  ['rule', 'unprocessable'],
  ['level', 'forbidden'],
]

describe('queryFault', () => {
  it.each(KINDS)('gives an error of kind %s the code %s', (kind, code) => {
    expect(toQueryError('SELECT', new LanguageError(kind, say`Expected ${words('a column')}.`, 6))).toMatchObject({
      code,
      message: 'Line 1, column 7: Expected a column.',
    })
  })

  it('keeps the names of the sentence, so that those outside the schema are masked', () => {
    const error = toQueryError('a\nb', new LanguageError('name', say`Column ${'emial'} of table ${'people'} is invalid.`, 2))
    expect(error.message).toBe('Line 2, column 1: Column "emial" of table "people" is invalid.')
    expect(error.recordedText((name) => name === 'people')).toBe(
      'Line 2, column 1: Column *UNKNOWN* of table "people" is invalid.',
    )
  })
})

describe('unknownTable', () => {
  it('is not_found and names the table in its details', () => {
    expect(unknownTableError('SELECT a FROM t', { table: 't', at: 14 })).toMatchObject({
      code: 'not_found',
      message: 'Line 1, column 15: Table "t" does not exist. Specify a table of the schema.',
      details: [{ table: 't' }],
    })
  })

  it('does not repeat a name that may be a value', () => {
    const fault = unknownTableError('', { table: '4111 1111', at: 0 })
    expect(`${fault.message} ${JSON.stringify(fault.details)}`).not.toContain('4111')
  })
})

describe('explainingFaults', () => {
  it('returns the result and passes other errors on', () => {
    expect(withQueryErrors('', () => 7)).toBe(7)
    const other = new RangeError('other')
    expect(() =>
      withQueryErrors('', () => {
        throw other
      }),
    ).toThrow(other)
  })
})
