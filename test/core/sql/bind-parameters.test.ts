/** Tests of parameters: where they can be, which values they take, and the errors of both. */
import { beforeAll, describe, expect, it } from 'vitest'
import type { QueryValue } from '../../../src/core/expressions/parameter-values.ts'
import { column, isVaultError } from '../../../src/index.ts'
import { openQueries, type Queries } from '../../support/queries/open-queries.ts'

const SHOWN = { redaction: 'PLAIN_TEXT' } as const
const TABLES = {
  t: {
    name: column.string({ ...SHOWN, searchable: true }),
    count: column.integer({ ...SHOWN, encrypted: false }),
    ratio: column.float(SHOWN),
    active: column.boolean(SHOWN),
    born: column.date(SHOWN),
    seen: column.datetime({ ...SHOWN, encrypted: false }),
    notes: column.json(SHOWN),
  },
}
const SELECT = 'SELECT name FROM t WHERE '

describe('a parameter', () => {
  let queries: Queries

  beforeAll(async () => {
    queries = await openQueries(TABLES)
    await queries.insert('t', [
      { name: 'Ann', count: 1, ratio: 0.1, active: true, born: '2020-01-31', seen: '2026-01-31T00:00:00Z', notes: { vip: 1 } },
      {
        name: 'Bo',
        count: 9_007_199_254_740_993n,
        ratio: 1e21,
        active: false,
        born: '1999-12-31',
        seen: '2026-02-01T00:00:00.5Z',
      },
      { name: "it's $1 \\ \u0000 --", count: -5, ratio: -2.5 },
    ])
  })

  async function ask(text: string, values: unknown): Promise<string> {
    try {
      const found = await queries.query(text, {}, values)
      return found.map((fields) => String(fields.name)).join()
    } catch (error) {
      if (isVaultError(error)) return `${error.code}: ${error.message}`
      throw error
    }
  }

  it.each<[condition: string, values: QueryValue[], found: string]>([
    ['name = $1', ['Ann'], 'Ann'],
    ['$1 = name', ['Bo'], 'Bo'],
    ['name = $1', ["it's $1 \\ \u0000 --"], "it's $1 \\ \u0000 --"],
    ['name LIKE $1', ['B%'], 'Bo'],
    ['name ILIKE $1 AND NOT name LIKE $2', ['%n%', 'x'], 'Ann'],
    ['count = $1', [1], 'Ann'],
    ['count = $1', ['1'], 'Ann'],
    ['count = $1', [9_007_199_254_740_993n], 'Bo'],
    ['count < $1', [-4.5], "it's $1 \\ \u0000 --"],
    ['count > $1', [-(2n ** 200n)], "Ann,Bo,it's $1 \\ \u0000 --"],
    ['ratio = $1', [0.1], 'Ann'],
    ['ratio = $1', [1e21], 'Bo'],
    ['active = $1', [false], 'Bo'],
    ['active = $1', ['t'], 'Ann'],
    ['born > $1', ['2000-01-01'], 'Ann'],
    ['seen = $1', [new Date('2026-02-01T00:00:00.500Z')], 'Bo'],
    ['seen < $1', ['2026-01-31T02:00:00+01:00'], 'Ann'],
    ['notes ? $1', ['vip'], 'Ann'],
    ['name = $1', [null], ''],
    ['NOT name = $1', [null], ''],
    ['$1 IS NULL OR name = $1', [null], "Ann,Bo,it's $1 \\ \u0000 --"],
    ['$1 IS NULL OR name = $1', ['Bo'], 'Bo'],
    ['name = $2 OR name = $1 OR name = $2', ['Bo', 'Ann'], 'Ann,Bo'],
    ['(name)=$1AND count=$2', ['Ann', 1], 'invalid_request: Line 1, column 33: Invalid parameter.'],
    ['(name)=$1 AND count=$2--$3', ['Ann', 1], 'Ann'],
  ])('is a value: %s', async (condition, values, found) => {
    expect(await ask(SELECT + condition, values)).toBe(found)
  })

  it('is a number after LIMIT and OFFSET', async () => {
    const page = 'SELECT name FROM t LIMIT $1 OFFSET $2'
    expect(await ask(page, [1, 1n])).toBe('Bo')
    expect(await ask('SELECT name FROM t OFFSET $1 LIMIT $1', [1])).toBe('Bo')
    const range = 'out_of_range: Line 1, column 26: Expected an integer from 0 to 9007199254740991.'
    for (const limit of [-1, 1.5, 1e21, 2n ** 53n]) expect(await ask(page, [limit, 0])).toBe(range)
    for (const limit of ['1', true]) {
      expect(await ask(page, [limit, 0])).toBe('invalid_request: Line 1, column 26: Parameter $1 must be an integer.')
    }
    expect(await ask(page, [1, null])).toBe('unsupported: Line 1, column 36: LIMIT or OFFSET of NULL is not supported.')
  })

  it.each<[condition: string, values: unknown, error: string]>([
    [
      'count = $1',
      ['high'],
      'unprocessable: Line 1, column 34: Parameter $1 compared with column "count" must be a whole number of 64 bits in decimal digits.',
    ],
    [
      'name = $1',
      [5],
      'unprocessable: Line 1, column 33: Column "name" of type STRING cannot be compared with parameter $1 (a number).',
    ],
    [
      '$1 = $2',
      [5, 'a'],
      'unprocessable: Line 1, column 31: Parameter $1 (a number) cannot be compared with parameter $2 (a string).',
    ],
    [
      'active = $1',
      [1],
      'unprocessable: Line 1, column 35: Column "active" of type BOOL cannot be compared with parameter $1 (a number).',
    ],
    ['born = $1', [new Date(0)], 'unprocessable: Line 1, column 33: Parameter $1 compared with column "born" must be a day'],
    ['name LIKE $1', [5], 'unprocessable: Line 1, column 36: LIKE requires text; parameter $1 (a number) is not text.'],
    ['name LIKE $1', ['a\\'], 'unprocessable: Line 1, column 36: This pattern ends in a backslash'],
    ['name LIKE $1', [`%${'x'.repeat(1025)}%`], 'limit_exceeded: Line 1, column 36: '],
    ['ratio = $1', [10n ** 400n], 'out_of_range: Line 1, column 34: Parameter $1 is too large for a double.'],
    ['name = $1', ['\ud800'], 'unprocessable: Line 1, column 33: Parameter $1 compared with column "name" must be well-formed'],
    ['name = $1', [], 'invalid_request: Line 1, column 33: This parameter has no value.'],
    ['name = $1', undefined, 'invalid_request: Line 1, column 33: This parameter has no value.'],
    ['name = $1500', ['a'], 'invalid_request: Line 1, column 33: This parameter has no value.'],
    ['name = $99999999999999999999', ['a'], 'invalid_request: Line 1, column 33: This parameter has no value.'],
    ['name = $0', ['a'], 'invalid_request: Line 1, column 33: Parameters are numbered from 1.'],
    ['name = $1', ['a', 'b'], 'invalid_request: Value 2 is not used: the query has no parameter $2.'],
    ['name = $3 OR name = $1', ['a', 'b', 'c'], 'invalid_request: Value 2 is not used: the query has no parameter $2.'],
    [
      "name LIKE '%$1%'",
      ['a'],
      'invalid_request: Value 1 is not used: the query has no parameter $1. In quotes it is text: leave the quotes out, and write % and _ of a pattern into the value.',
    ],
    ['name = $1', 'a', 'invalid_request: The values of a query must be a list.'],
    ['name = $1', { 0: 'a', length: 1 }, 'invalid_request: The values of a query must be a list.'],
    ['name = $1', null, 'invalid_request: The values of a query must be a list.'],
    [
      'name = $1',
      ['x'.repeat(16_385)],
      'limit_exceeded: Line 1, column 33: The values of this query are longer than 16384 characters together.',
    ],
    ['name = $1 OR name = $1', ['x'.repeat(9000)], 'limit_exceeded: Line 1, column 46: The values of this query are longer'],
    ['name = $1', new Array(4001), 'limit_exceeded: A query has at most 4000 values.'],
  ])('is refused: %s (%#)', async (condition, values, error) => {
    const message = await ask(SELECT + condition, values)
    expect(message.slice(0, error.length)).toBe(error)
  })

  it('takes a text of 16,384 characters', async () => {
    expect(await ask(`${SELECT}name = $1`, ['x'.repeat(16_384)])).toBe('')
  })

  it.each<[string, unknown]>([
    ['undefined', undefined],
    ['a list', [1]],
    ['an object', {}],
    ['NaN', Number.NaN],
    ['a bigint above 2,048 bits', 2n ** 3000n],
    ['an invalid date', new Date(Number.NaN)],
    ['a boxed number', new Number(1)],
    ['a symbol', Symbol('x')],
  ])('is not %s, which is refused by its position', async (_, value) => {
    const error = 'must be a string, a finite number, a bigint, a boolean, null or a Date.'
    expect(await ask(`${SELECT}name = $1 OR name = $2`, ['a', value])).toBe(`invalid_request: The value of parameter $2 ${error}`)
  })

  it('is not read through code of the caller that throws', async () => {
    const throwing = new Proxy(['a'], {
      get(target, member) {
        if (member === '0') throw new Error('a secret')
        return Reflect.get(target, member)
      },
    })
    expect(await ask(`${SELECT}name = $1`, throwing)).toMatch(/^invalid_request: The input cannot be read/)
  })
})
