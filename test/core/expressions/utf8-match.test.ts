/** Patterns matched with UTF-8 give the same results as with strings. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createMatcher } from '../../../src/core/expressions/like.ts'
import { createUtf8Equality, createUtf8Matcher } from '../../../src/core/expressions/utf8-match.ts'
import { toUtf8 } from '../../../src/core/util/bytes.ts'
import { required } from '../../../src/core/util/lists.ts'

/** Characters of one to four bytes, some of which begin with the same bytes, and a composed one beside its parts. */
const CHARACTERS = [
  'a',
  'b',
  'A',
  '\\',
  'ß',
  'à',
  'á',
  'a\u0300',
  '\u0300',
  '€',
  '₭',
  '😀',
  '😁',
  '\u0000',
  ' ',
  '%',
  '_',
] as const

const text = fc.array(fc.constantFrom(...CHARACTERS), { maxLength: 12 }).map((parts) => parts.join(''))
const pattern = fc
  .array(fc.constantFrom('%', '%', 'a', 'b', 'aa', 'á', 'a\u0300', '€', '😀', '\\%', '\\_', '\\\\', '\\a', '\u0000'), {
    maxLength: 6,
  })
  .map((parts) => parts.join(''))

/** Matches a text that lies between other bytes, which could complete a match. */
function matchesInside(like: string, value: string): boolean {
  const bytes = toUtf8(value)
  const around = new Uint8Array([...toUtf8('ab€'), ...bytes, ...toUtf8('ab€')])
  return required(createUtf8Matcher(like))(around, 5, 5 + bytes.length)
}

describe('a pattern matched with UTF-8', () => {
  it('matches what it matches as a string', () => {
    fc.assert(
      fc.property(pattern, text, (like, value) => {
        expect(matchesInside(like, value)).toBe(createMatcher(like, false)(value))
      }),
      { numRuns: 3000 },
    )
  })

  it('matches pieces of the text itself, wherever they are cut out', () => {
    const cuts = fc.record({ value: text, cuts: fc.array(fc.nat(12), { minLength: 1, maxLength: 4 }) })
    fc.assert(
      fc.property(cuts, ({ value, cuts }) => {
        const characters = [...value]
        for (const cut of cuts) characters.splice(cut, 1, '%')
        const like = characters.map((one) => ('\\_'.includes(one) ? `\\${one}` : one)).join('')
        expect(matchesInside(like, value)).toBe(createMatcher(like, false)(value))
      }),
      { numRuns: 2000 },
    )
  })

  it.each(['a_b', '%_', 'a\\', '\ud800', '%\udc00%', 'a'.repeat(33), `%${'a'.repeat(33)}%`])(
    'is left to strings where these are needed: %j',
    (like) => {
      expect(createUtf8Matcher(like)).toBeUndefined()
    },
  )

  it('is of long pieces up to 32 characters', () => {
    expect(matchesInside('😀'.repeat(32), '😀'.repeat(32))).toBe(true)
    expect(matchesInside('😀'.repeat(32), '😀'.repeat(31))).toBe(false)
  })
})

it('an equality with UTF-8 is that of the texts', () => {
  fc.assert(
    fc.property(text, text, (one, other) => {
      const bytes = toUtf8(other)
      expect(createUtf8Equality(toUtf8(one))(bytes, 0, bytes.length)).toBe(one === other)
    }),
    { numRuns: 2000 },
  )
})
