/** INTEGER, FLOAT and BOOL: the bounds of accepted values. */
import { describe, expect, it } from 'vitest'
import { boolType } from '../../../src/core/values/bool-type.ts'
import { floatType, integerType } from '../../../src/core/values/number-types.ts'
import { outcomeOf, readableOf, takenOf } from '../../support/column-types/cases.ts'

describe('INTEGER', () => {
  it.each([
    [0, 0],
    [-0, 0],
    ['-0', 0],
    ['42', 42],
    [42n, 42],
    ['9007199254740991', 9007199254740991],
    ['9007199254740993', 9007199254740993n],
    ['-9007199254740993', -9007199254740993n],
    ['9223372036854775807', 9223372036854775807n],
    ['-9223372036854775808', -9223372036854775808n],
    [9007199254740992n, 9007199254740992n],
  ])('accepts %s without losing a digit', (input, value) => {
    expect(integerType.parse(input)).toBe(value)
  })

  it('rejects fractions, numbers beyond 2^53, text beyond 64 bits and other spellings', () => {
    const wrong = [
      1.5,
      2 ** 53,
      -(2 ** 53),
      1e300,
      Number.NaN,
      2n ** 63n,
      -(2n ** 63n) - 1n,
      true,
      [],
      '9223372036854775808',
      '-9223372036854775809',
    ]
    const spellings = ['', ' 1', '1 ', '+1', '01', '1.0', '1e3', '0x1', '1_000', '--1', '-', '١', '1n']
    expect(takenOf(integerType, [...wrong, ...spellings])).toEqual([])
  })

  it('rejects a number beyond 2^53 and asks for a string', () => {
    expect(outcomeOf(() => integerType.parse(2 ** 53))).toContain('must be a string beyond 2^53, because a number loses digits')
  })

  it('returns a number if it is exact, else decimal text', () => {
    expect(integerType.toJson(7)).toBe(7)
    expect(integerType.toJson(2n ** 53n)).toBe('9007199254740992')
  })

  it('compares numbers and bigints with each other', () => {
    const ordered = [-(2n ** 63n), -1, 0, 9007199254740991, 2n ** 53n, 2n ** 53n + 1n]
    expect([...ordered].reverse().sort((left, right) => integerType.compare(left, right) ?? 0)).toEqual(ordered)
  })

  it('returns a number for a small cell that the engine returns as a bigint', () => {
    expect(integerType.fromCell(5n)).toBe(5)
  })
})

describe('FLOAT', () => {
  it('accepts finite numbers and makes minus zero zero', () => {
    expect(Object.is(floatType.parse(-0), 0)).toBe(true)
    expect(Object.is(floatType.fromText('-0.0e3'), 0)).toBe(true)
    expect([5e-324, 1.7976931348623157e308, 0.1].map((value) => floatType.parse(value))).toEqual([
      5e-324, 1.7976931348623157e308, 0.1,
    ])
    expect(takenOf(floatType, [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, '1', 1n, true, [1]])).toEqual([])
  })

  it('parses text only by the grammar of JSON numbers', () => {
    const right = ['0', '-1', '1.50', '1e3', '1E+3', '1e-400', '12345678901234567890']
    const wrong = ['', ' 1', '+1', '.5', '5.', '01', '0x10', 'Infinity', 'NaN', '1e', '1e400', '1_0', '1,5']
    expect(readableOf(floatType, [...right, ...wrong])).toEqual(right)
  })
})

describe('BOOL', () => {
  it('accepts true and false, and as text only their names', () => {
    expect(takenOf(boolType, [true, false, 1, 0, 'true', 'false', new Boolean(true)])).toEqual([true, false])
    expect(readableOf(boolType, ['true', 'false', 'TRUE', '1', 'yes', ' true'])).toEqual(['true', 'false'])
  })
})
