/** Levels and what they show. */
import { describe, expect, test } from 'vitest'
import { isAskedLevel, isLevel, LEVELS, lowerLevel } from '../../../src/core/redaction/levels.ts'
import { REDACTED_TEXT, redact } from '../../../src/core/redaction/redact.ts'

test('the lower of two levels is the one that shows less, in either order', () => {
  LEVELS.forEach((one, i) => {
    LEVELS.forEach((other, k) => {
      expect(lowerLevel(one, other)).toBe(LEVELS[Math.max(i, k)])
    })
  })
})

test('a level is one of three names, and what may be asked is one more', () => {
  expect([...LEVELS, 'DEFAULT', 'masked', '', 'toString', '__proto__', 1, null, undefined, ['MASKED']].filter(isLevel)).toEqual(
    LEVELS,
  )
  expect(['DEFAULT', 'MASKED', 'default', 'constructor', Symbol.iterator].filter(isAskedLevel)).toEqual(['DEFAULT', 'MASKED'])
})

describe('redact', () => {
  const shout = (text: string): string => text.toUpperCase()

  test('shows plain text as it is, a mask’s view where masked, and one constant otherwise', () => {
    expect(redact('PLAIN_TEXT', 'secret', shout)).toBe('secret')
    expect(redact('MASKED', 'secret', shout)).toBe('SECRET')
    expect(redact('MASKED', 'secret')).toBe(REDACTED_TEXT)
    expect(redact('MASKED', 'secret', undefined)).toBe('*REDACTED*')
    expect(redact('REDACTED', 'secret', shout)).toBe('*REDACTED*')
  })
})
