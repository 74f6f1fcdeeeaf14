/** Tests how names and literals of a condition resolve, and which conditions are rejected, with which error and offset. */
import { describe, expect, it } from 'vitest'
import type { Condition } from '../../../src/core/expressions/condition.ts'
import { LanguageError } from '../../../src/core/expressions/language-error.ts'
import { columnTypes } from '../../../src/core/values/column-types.ts'
import { COLUMN_TYPES, columnsKept, resolvedCondition, tableIn } from './sample-table.ts'

const table = tableIn(
  {
    t: {
      ...columnsKept((name) => (name === 'h' ? { encrypted: false } : {})),
      k: { type: 'JSON', encrypted: false },
      gone: { type: 'STRING', token: { kind: 'transient' } },
    },
  },
  't',
)

/** The error of a rejected condition. */
function faultOf(text: string, work: () => unknown = () => resolvedCondition(table, text)): string {
  try {
    work()
  } catch (error) {
    if (error instanceof LanguageError) return `${error.kind} at ${error.at}: ${error.message}`
    throw error
  }
  return 'none'
}

function constantOf(text: string): unknown {
  const condition = resolvedCondition(table, text)
  if (condition.kind !== 'compare' || condition.right.kind !== 'constant') return condition
  return [condition.operator, condition.right.value, condition.right.type.name]
}

const UNKNOWN: Condition = { kind: 'truth', truth: undefined }

describe('a literal compared with a column', () => {
  it('is parsed as a value of the column if quoted', () => {
    expect(constantOf("i = '9007199254740993'")).toEqual(['=', 9007199254740993n, 'INTEGER'])
    expect(constantOf("f < '1004.3'")).toEqual(['<', 1004.3, 'FLOAT'])
    expect(constantOf("b = 'true'")).toEqual(['=', true, 'BOOL'])
    expect(constantOf("d > '2020-02-29'")).toEqual(['>', '2020-02-29', 'DATE'])
    expect(constantOf("m > '2020-01-01T01:00:00.50+01:00'")).toEqual(['>', '2020-01-01T00:00:00.5Z', 'DATETIME'])
    expect(constantOf("s = '5'")).toEqual(['=', '5', 'STRING'])
    expect(constantOf("svc_id = 'x'")).toEqual(['=', 'x', 'STRING'])
  })

  it('on the left is swapped to the right with the mirrored operator', () => {
    expect(constantOf('5 < i')).toEqual(['>', 5, 'INTEGER'])
    expect(constantOf("'a' > s")).toEqual(['<', 'a', 'STRING'])
  })

  it('a number compared with INTEGER becomes an integer if an equivalent one exists', () => {
    expect(constantOf('i < 85.5')).toEqual(['<', 86, 'INTEGER'])
    expect(constantOf('i > 85.5')).toEqual(['>', 85, 'INTEGER'])
    expect(constantOf('i < -85.5')).toEqual(['<', -85, 'INTEGER'])
    expect(constantOf('i > -85.5')).toEqual(['>', -86, 'INTEGER'])
    expect(constantOf('i = 1.50e1')).toEqual(['=', 15, 'INTEGER'])
    expect(constantOf('i = 0.000')).toEqual(['=', 0, 'INTEGER'])
    expect(constantOf('i = -0')).toEqual(['=', 0, 'INTEGER'])
    expect(constantOf('i < 1e-400')).toEqual(['<', 1, 'INTEGER'])
    expect(constantOf('i > 9223372036854775807')).toEqual(['>', 9223372036854775807n, 'INTEGER'])
    expect(constantOf('i > 9223372036854775807.5')).toEqual(['>', 9223372036854775807n, 'INTEGER'])
    expect(constantOf('i < 9223372036854775807.5')).toEqual(['<', Number.POSITIVE_INFINITY, 'FLOAT'])
    expect(constantOf('i > -1e300')).toEqual(['>', Number.NEGATIVE_INFINITY, 'FLOAT'])
  })

  it('a number compared with FLOAT becomes the nearest double', () => {
    expect(constantOf('f = 9007199254740993')).toEqual(['=', 9007199254740992, 'FLOAT'])
    expect(constantOf('f > .5')).toEqual(['>', 0.5, 'FLOAT'])
    expect(['f = -0', 'f = -0.0', 'f = -1e-400'].map(constantOf)).toStrictEqual(Array(3).fill(['=', 0, 'FLOAT']))
    expect(faultOf('f < 1e400')).toBe('range at 4: The number is too large for a double.')
  })

  it('numbers as long as a query are parsed quickly', () => {
    const long = `${'0'.repeat(8000)}1${'0'.repeat(8000)}`
    const from = performance.now()
    expect(constantOf(`i < ${long}`)).toEqual(['<', Number.POSITIVE_INFINITY, 'FLOAT'])
    expect(constantOf(`i < 0.${long}`)).toEqual(['<', 1, 'INTEGER'])
    expect(performance.now() - from).toBeLessThan(1000)
    expect(faultOf('i < 1e99999999999999999999')).toBe('range at 4: The exponent of this number is out of range.')
  })

  it('NULL makes the comparison unknown, if the column is comparable', () => {
    expect(resolvedCondition(table, 'i = NULL')).toEqual(UNKNOWN)
    expect(resolvedCondition(table, 'NULL > s')).toEqual(UNKNOWN)
    expect(faultOf('j = NULL')).toContain('type at 0')
    expect(faultOf('nowhere = NULL')).toContain('name at 0')
  })
})

describe('rejects operands that do not match, at their offset', () => {
  it.each([
    ["i = '1004.3'", 'type at 4: The literal compared with column "i" must be a whole number of 64 bits in decimal digits.'],
    [
      "d = '2021-02-29'",
      'type at 4: The literal compared with column "d" must be a day of the calendar as YYYY-MM-DD, years 0001 to 9999.',
    ],
    ['s = 5', 'type at 4: Column "s" of type STRING cannot be compared with a number.'],
    ['5 = b', 'type at 0: Column "b" of type BOOL cannot be compared with a number.'],
    ['i = TRUE', 'type at 4: Column "i" of type INTEGER cannot be compared with TRUE or FALSE.'],
    ['svc_id = 5', 'type at 9: The record id cannot be compared with a number.'],
    ['d < m', 'type at 4: Column "d" of type DATE cannot be compared with column "m" of type DATETIME.'],
    ['s = svc_id AND i = s', 'type at 19: Column "i" of type INTEGER cannot be compared with column "s" of type STRING.'],
    ['j = j', 'type at 0: The values of column "j" cannot be compared. Only IS NULL and IS NOT NULL are supported for it.'],
    ["a > '[]'", 'type at 0: The values of column "a" cannot be compared. Only IS NULL and IS NOT NULL are supported for it.'],
    ["1 = '1'", 'type at 4: A number cannot be compared with a string.'],
    ['TRUE = 1', 'type at 7: TRUE or FALSE cannot be compared with a number.'],
    ["i LIKE '1%'", 'type at 0: LIKE requires text; column "i" of type INTEGER is not text.'],
    ['s LIKE 5', 'type at 7: LIKE requires text; a number is not text.'],
    ['s LIKE d', 'type at 7: LIKE requires text; column "d" of type DATE is not text.'],
    ["s LIKE 'a\\'", 'rule at 7: This pattern ends in a backslash that escapes nothing. Write two for a backslash.'],
    ["s ? 'a'", 'type at 0: The operator ? requires a JSON column; column "s" of type STRING is not one.'],
    ["'{}' ? 'a'", 'type at 0: The operator ? requires a JSON column; a string is not one.'],
    ["k ? 'a'", 'rule at 0: The operator ? requires an encrypted JSON column; column "k" is plain.'],
    ['j ? s', 'type at 4: The key after ? must be a string.'],
    ['j ? 5', 'type at 4: The key after ? must be a string.'],
    ["gone = 'a'", 'rule at 0: Column "gone" is transient and cannot be used in a condition.'],
    ['gone IS NULL', 'rule at 0: Column "gone" is transient and cannot be used in a condition.'],
  ])('%s', (text, fault) => {
    expect(faultOf(text)).toBe(fault)
  })

  it('also after a part that already decides the condition', () => {
    expect(faultOf('FALSE AND s = 5')).toContain('type')
    expect(faultOf('1 = 1 OR j = j')).toContain('type')
  })

  it('two columns are comparable exactly when their types are', () => {
    const numbers = ['INTEGER', 'FLOAT']
    for (const [left, one] of Object.entries(COLUMN_TYPES)) {
      for (const [right, other] of Object.entries(COLUMN_TYPES)) {
        const isSame = one === other || (numbers.includes(one) && numbers.includes(other))
        const compares = isSame && one !== 'JSON' && one !== 'ARRAY'
        expect(faultOf(`${left} < ${right}`) === 'none', `${left} < ${right}`).toBe(compares)
      }
    }
  })
})

it('comparisons of literals are resolved to constants', () => {
  const truths = (text: string): unknown => {
    const condition = resolvedCondition(table, text)
    return condition.kind === 'truth' ? condition.truth : condition
  }
  expect(truths('1 = 1.0')).toBe(true)
  expect(truths('0.1 < 0.10000000000000000000001')).toBe(true)
  expect(truths('-2 > -1')).toBe(false)
  expect(truths('-1e999999 < 1e-999999')).toBe(true)
  expect(truths('10 > 9')).toBe(true)
  expect(truths("'10' > '9'")).toBe(false)
  expect(truths('FALSE < TRUE')).toBe(true)
  expect(truths('NULL = 1')).toBeUndefined()
  expect(truths("'abc' LIKE 'a%'")).toBe(true)
  expect(truths("'abc' LIKE NULL")).toBeUndefined()
  expect(truths('NULL IS NULL')).toBe(true)
  expect(truths('5 IS NULL')).toBe(false)
  expect(truths('NOT (1 = 2 OR NULL)')).toBeUndefined()
  expect(truths('i = 1 AND 1 = 2')).toBe(false)
})

it('a constant part leaves the rest unchanged', () => {
  expect(resolvedCondition(table, '1 = 1 AND i = 1')).toEqual(resolvedCondition(table, 'i = 1'))
  expect(resolvedCondition(table, 'i = 1 OR FALSE OR (i = 1 OR b = TRUE)')).toMatchObject({
    kind: 'or',
    conditions: { length: 3 },
  })
  expect(resolvedCondition(table, 'NOT NOT i = 1')).toEqual(resolvedCondition(table, 'i = 1'))
})

describe("attributes of the caller's context", () => {
  const attributes: Readonly<Record<string, string | number | boolean>> = {
    country: 'SE',
    age: 42,
    big: 1e21,
    half: 0.5,
    none: Number.NaN,
    admin: true,
    day: '2020-01-01',
    pattern: 'a\\',
  }
  const inContext = (text: string): Condition => resolvedCondition(table, text, (name) => attributes[name])

  it('become the equivalent literals', () => {
    expect(inContext('s = ctx.country')).toEqual(resolvedCondition(table, "s = 'SE'"))
    expect(inContext('ctx.age < i')).toEqual(resolvedCondition(table, '42 < i'))
    expect(inContext('i < ctx.big')).toEqual(resolvedCondition(table, 'i < 1e21'))
    expect(inContext('i < ctx.half')).toEqual(resolvedCondition(table, 'i < 0.5'))
    expect(inContext('d = ctx.day')).toEqual(resolvedCondition(table, "d = '2020-01-01'"))
    expect(inContext('b = ctx.admin')).toEqual(resolvedCondition(table, 'b = TRUE'))
    expect(inContext("ctx.country = 'SE'")).toEqual({ kind: 'truth', truth: true })
    expect(inContext('s LIKE ctx.country')).toEqual(resolvedCondition(table, "s LIKE 'SE'"))
    expect(inContext('j ? ctx.country')).toEqual(resolvedCondition(table, "j ? 'SE'"))
    expect(inContext('ctx.nothing IS NULL AND ctx.age IS NOT NULL')).toEqual({ kind: 'truth', truth: true })
  })

  it('that are absent or have the wrong type make the condition unknown and never throw', () => {
    const texts = [
      ...['s = ctx.nothing', 'i = ctx.country', 's = ctx.age', 'ctx.admin = i', 'd = ctx.country', 'i = ctx.none'],
      ...['s LIKE ctx.age', 's LIKE ctx.pattern', 'ctx.age LIKE s', 'j ? ctx.age', 'ctx.country = ctx.age', 'ctx.age = TRUE'],
    ]
    for (const text of texts) expect(inContext(text), text).toEqual(UNKNOWN)
  })

  it('can all be absent while the rest of the condition is still checked', () => {
    const checked = (text: string): string => faultOf(text, () => resolvedCondition(table, text, () => undefined))
    expect(checked("s = ctx.country AND i > ctx.age AND d < '2020-01-01'")).toBe('none')
    expect(checked("i > ctx.age AND d < 'x'")).toContain('type at 20')
    expect(checked('j = ctx.country')).toContain('type at 0')
    expect(checked('i LIKE ctx.country')).toContain('type at 0')
    expect(checked('nowhere = ctx.country')).toContain('name at 0')
    expect(checked('s ? ctx.country')).toContain('type at 0')
  })

  it('are columns of a table named ctx if no context is given', () => {
    expect(resolvedCondition(table, 'ctx.i = 1')).toEqual(resolvedCondition(table, 'i = 1'))
  })
})

it('a constant has the type of its value', () => {
  for (const [name, type] of Object.entries(COLUMN_TYPES)) {
    if (type === 'JSON' || type === 'ARRAY') continue
    const sample = { STRING: 'a', INTEGER: '1', FLOAT: '1.5', BOOL: 'true', DATE: '2020-01-01' }[String(type)]
    const text = sample ?? (type === 'TIME' ? '12:00:00' : '2020-01-01T00:00:00Z')
    const condition = resolvedCondition(table, `${name} = '${text}'`)
    expect(condition).toMatchObject({ right: { kind: 'constant', type: columnTypes[type] } })
  }
})
