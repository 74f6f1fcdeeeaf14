/** The rules a column adds to its type. */
import { describe, expect, it } from 'vitest'
import { columnTypes } from '../../../src/core/values/column-types.ts'
import { compileRules, type RuleOptions } from '../../../src/core/values/value-rules.ts'
import { outcomeOf } from '../../support/column-types/cases.ts'

const check = (options: RuleOptions, value: unknown, type = columnTypes.STRING): unknown =>
  outcomeOf(() => compileRules(options, type)?.(value, type))

it('returns undefined for a column without rules', () => {
  expect(compileRules({}, columnTypes.STRING)).toBeUndefined()
  expect(compileRules({ unique: false }, columnTypes.STRING)).toBeUndefined()
})

describe('maxLength', () => {
  it('counts code points', () => {
    expect(check({ maxLength: 3 }, '😀😀😀')).toBeUndefined()
    expect(check({ maxLength: 3 }, '😀😀😀a')).toBe('fault: must have at most 3 characters')
    expect(check({ maxLength: 1 }, 'ab')).toBe('fault: must have at most 1 character')
  })
})

describe('unique', () => {
  it('rejects text above 2,500 code points and names the error', () => {
    expect(check({ unique: true }, '😀'.repeat(2500))).toBeUndefined()
    expect(check({ unique: true }, 'a'.repeat(2501))).toContain('token insertion error')
  })
})

describe('oneOf', () => {
  it('accepts exactly the listed values, text or number', () => {
    expect(check({ oneOf: ['SE', 'NO'] }, 'NO')).toBeUndefined()
    expect(check({ oneOf: ['SE', 'NO'] }, 'no')).toBe('fault: must be one of the values its column allows')
    expect(check({ oneOf: [1, 2] }, 2, columnTypes.INTEGER)).toBeUndefined()
    expect(check({ oneOf: [1, 2] }, 2n ** 60n, columnTypes.INTEGER)).toContain('fault')
  })
})

describe('pattern', () => {
  it('must match the whole text, including alternatives and lines', () => {
    expect(check({ pattern: 'a|ab' }, 'ab')).toBeUndefined()
    expect(check({ pattern: 'a|b' }, 'ab')).toBe('fault: must match the pattern of its column as a whole')
    expect(check({ pattern: '[0-9]+' }, '12\n')).toContain('fault')
    expect(check({ pattern: '(?m)^[0-9]+$' }, '12\nDROP')).toContain('fault')
  })

  it('takes time linear in the text', () => {
    expect(check({ pattern: '(a+)+' }, `${'a'.repeat(50_000)}!`)).toContain('fault')
    expect(check({ pattern: '(a|aa)+' }, 'a'.repeat(50_000))).toBeUndefined()
  })

  it('is rejected if it is invalid, when the rules are compiled', () => {
    expect(outcomeOf(() => compileRules({ pattern: '(' }, columnTypes.STRING))).toContain('RE2')
    expect(outcomeOf(() => compileRules({ pattern: '(a)\\1' }, columnTypes.STRING))).toContain('RE2')
  })
})
