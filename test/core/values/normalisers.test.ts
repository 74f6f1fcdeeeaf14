/** What each normaliser equates. */
import { expect, test } from 'vitest'
import { normalise } from '../../../src/core/values/normalisers.ts'

test('trim takes white space off both ends only', () => {
  expect(normalise(['trim'], ' \t\u00a0a b\u2003\n')).toBe('a b')
})

test('lowercase lowers each code point by itself, whatever stands around it', () => {
  expect(normalise(['lowercase'], 'ÀÉ𐐀 ΣΑΣ')).toBe('àé𐐨 σασ')
  expect(normalise(['lowercase'], 'I')).toBe('i')
})

test('digits keeps 0 to 9 and no other script’s', () => {
  expect(normalise(['digits'], '+46 (0)70-123 45 67 ٣')).toBe('460701234567')
})

test('several apply in the order named, none leaves the text alone', () => {
  expect(normalise(['lowercase', 'trim'], ' Ann@ACME.example ')).toBe('ann@acme.example')
  expect(normalise([], ' A ')).toBe(' A ')
})
