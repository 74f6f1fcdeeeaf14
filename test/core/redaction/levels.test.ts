/** Redaction levels and their results. */
import { describe, expect, it } from 'vitest'
import {
  isRedaction,
  isRedactionLevel,
  lowerLevel,
  REDACTED_TEXT,
  REDACTION_LEVELS,
  redact,
} from '../../../src/core/redaction/masks.ts'

it('returns the level that reveals less, in either order', () => {
  REDACTION_LEVELS.forEach((one, i) => {
    REDACTION_LEVELS.forEach((other, k) => {
      expect(lowerLevel(one, other)).toBe(REDACTION_LEVELS[Math.max(i, k)])
    })
  })
})

it('accepts three levels, and DEFAULT in requests', () => {
  expect(
    [...REDACTION_LEVELS, 'DEFAULT', 'masked', '', 'toString', '__proto__', 1, null, undefined, ['MASKED']].filter(
      isRedactionLevel,
    ),
  ).toEqual(REDACTION_LEVELS)
  expect(['DEFAULT', 'MASKED', 'default', 'constructor', Symbol.iterator].filter(isRedaction)).toEqual(['DEFAULT', 'MASKED'])
})

describe('redact', () => {
  const shout = (text: string): string => text.toUpperCase()

  it('returns plain text unchanged, the masked form if masked, and a constant otherwise', () => {
    expect(redact('PLAIN_TEXT', 'secret', shout)).toBe('secret')
    expect(redact('MASKED', 'secret', shout)).toBe('SECRET')
    expect(redact('MASKED', 'secret')).toBe(REDACTED_TEXT)
    expect(redact('MASKED', 'secret', undefined)).toBe('*REDACTED*')
    expect(redact('REDACTED', 'secret', shout)).toBe('*REDACTED*')
  })
})
