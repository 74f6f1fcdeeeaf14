/** DECIMAL: the bounds of accepted values, and how numbers of two types compare. */
import { describe, expect, it } from 'vitest'
import { decimalType, numberComparison } from '../../../src/core/values/decimal-type.ts'
import { floatType, integerType } from '../../../src/core/values/number-types.ts'
import { outcomeOf, readableOf, takenOf } from '../../support/column-types/cases.ts'

const cents = decimalType(2)

it.each([
  ['12.50', '12.50'],
  ['12.5', '12.50'],
  ['12.5000', '12.50'],
  ['-0.00', '0.00'],
  ['-0.01', '-0.01'],
  [12.5, '12.50'],
  [0.1, '0.10'],
  [-0, '0.00'],
  [7n, '7.00'],
  [9_007_199_254_740_991, '9007199254740991.00'],
  ['9999999999999999.99', '9999999999999999.99'],
  [-9_999_999_999_999_999n, '-9999999999999999.00'],
])('accepts %s as %s', (input, text) => {
  expect(cents.toText(cents.parse(input))).toBe(text)
  expect(cents.toJson(cents.parse(input))).toBe(text)
})

it('rejects what would lose a digit, other spellings, and numbers beyond 18 digits', () => {
  const wrong = [
    '0.001',
    0.001,
    1e-7,
    '10000000000000000',
    10n ** 16n,
    1e16,
    1e300,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    true,
    [],
  ]
  const spellings = ['', ' 1', '+1', '01', '.5', '5.', '1e3', '1,5', '1_0', '--1', '-', '0x1', `0.${'0'.repeat(70)}`]
  expect(takenOf(cents, [...wrong, ...spellings])).toEqual([])
  expect(readableOf(cents, ['1e3', ' 1', '1.005'])).toEqual([])
})

it('rejects a number that may have lost digits on its way', () => {
  const long = decimalType(17)
  expect(takenOf(long, [0.1234567890123456, 0.1 + 0.2])).toEqual([])
  expect(outcomeOf(() => long.parse(0.1 + 0.2))).toBe('fault: must be a string beyond 15 digits, because a number loses them')
  expect(long.toText(long.parse('0.12345678901234567'))).toBe('0.12345678901234567')
})

it('has all digits before the point at scale 0, and all behind it at scale 18', () => {
  expect(takenOf(decimalType(0), ['999999999999999999', '1.0', '0.5'])).toEqual(['999999999999999999', '1.0'])
  expect(takenOf(decimalType(18), ['0.999999999999999999', '-0.000000000000000001', '1'])).toEqual([
    '0.999999999999999999',
    '-0.000000000000000001',
  ])
  expect(decimalType(0).toText(7)).toBe('7')
})

it('takes another spelling of a number for the number, so that no token shows it', () => {
  for (const text of ['12.5', '12.50', '012.500', '1.25e1', '+12.5']) expect(cents.isSpelledBy(1250, text)).toBe(true)
  expect(cents.isSpelledBy(1250, '1250')).toBe(false)
})

describe('numbers of two types', () => {
  it('compare exactly, where doubles would be equal', () => {
    const thousandths = decimalType(3)
    const compare = numberComparison(cents, thousandths)
    expect(compare(999_999_999_999_999_999n, 9_999_999_999_999_990n)).toBeGreaterThan(0)
    expect(compare(90_071_992_547_409_93n, 90_071_992_547_409_930n)).toBe(0)
    expect(compare(90_071_992_547_409_93n, 90_071_992_547_409_931n)).toBeLessThan(0)
    expect(numberComparison(integerType, cents)(-3, -299)).toBeLessThan(0)
    expect(numberComparison(integerType, cents)(0, 0)).toBe(0)
  })

  it('compare as doubles beside FLOAT', () => {
    expect(numberComparison(cents, floatType)(10, 0.1)).toBe(0)
    expect(numberComparison(floatType, cents)(0.3, 29)).toBeGreaterThan(0)
  })
})
