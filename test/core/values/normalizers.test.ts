/** What each normalizer makes equal. */
import { expect, it } from 'vitest'
import { normalize } from '../../../src/core/values/normalizers.ts'

it('trim removes white space at both ends only', () => {
  expect(normalize(['trim'], ' \t\u00a0a b\u2003\n')).toBe('a b')
})

it('lowercase lowers each code point independently of its neighbors', () => {
  expect(normalize(['lowercase'], 'ÀÉ𐐀 ΣΑΣ')).toBe('àé𐐨 σασ')
  expect(normalize(['lowercase'], 'I')).toBe('i')
})

it('digits keeps 0 to 9 and no digits of other scripts', () => {
  expect(normalize(['digits'], '+46 (0)70-123 45 67 ٣')).toBe('460701234567')
})

it('several apply in order, and an empty list changes nothing', () => {
  expect(normalize(['lowercase', 'trim'], ' Ann@ACME.example ')).toBe('ann@acme.example')
  expect(normalize([], ' A ')).toBe(' A ')
})
