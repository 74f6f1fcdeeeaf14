/** What each normalizer makes equal. */
import { expect, it } from 'vitest'
import { normalise } from '../../../src/core/values/normalisers.ts'

it('trim removes white space at both ends only', () => {
  expect(normalise(['trim'], ' \t\u00a0a b\u2003\n')).toBe('a b')
})

it('lowercase lowers each code point independently of its neighbors', () => {
  expect(normalise(['lowercase'], 'ÀÉ𐐀 ΣΑΣ')).toBe('àé𐐨 σασ')
  expect(normalise(['lowercase'], 'I')).toBe('i')
})

it('digits keeps 0 to 9 and no digits of other scripts', () => {
  expect(normalise(['digits'], '+46 (0)70-123 45 67 ٣')).toBe('460701234567')
})

it('several apply in order, and an empty list changes nothing', () => {
  expect(normalise(['lowercase', 'trim'], ' Ann@ACME.example ')).toBe('ann@acme.example')
  expect(normalise([], ' A ')).toBe(' A ')
})
