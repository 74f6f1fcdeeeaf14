/** Tests LIKE and ILIKE with cases of other engines and against a plain definition of matching. */
import { describe, expect, it } from 'vitest'
import { createMatcher, endsInLoneEscape, PatternError } from '../../../src/core/expressions/like.ts'
import { type SeededRandom, seededRandom } from '../../support/random/seeded-random.ts'
import { readVectors } from '../../support/sql/vectors.ts'

interface LikeCase {
  readonly value: string | null
  readonly op: string
  readonly pattern: string | null
  /** The character that ESCAPE names; undefined for the backslash. The language itself has no ESCAPE. */
  readonly escape?: string | null
  readonly expected: boolean | null | 'error'
}

describe('the test vectors', () => {
  // ESCAPE of NULL and of several characters is left out: the language cannot express it.
  const cases = readVectors<LikeCase>('like_cases').filter((line) => line.escape === undefined || line.escape?.length === 1)

  it.each(cases)('$value $op $pattern is $expected', ({ value, op, pattern, escape: sign, expected }) => {
    if (value === null || pattern === null) return expect(expected).toBeNull()
    const matcher = createMatcher(withBackslashes(pattern, sign ?? '\\'), op.includes('ILIKE'))
    if (expected === 'error') return expect(() => matcher(value)).toThrow(PatternError)
    expect(matcher(value) !== op.startsWith('NOT')).toBe(expected)
  })

  it('are many', () => {
    expect(cases.length).toBeGreaterThan(100)
  })
})

describe('a matcher', () => {
  it('matches exactly as the definition does', () => {
    const random = seededRandom('like 1')
    for (let run = 0; run < 20_000; run++) {
      const pattern = randomPattern(random)
      const text = row(random, ['a', 'b', 'A', '🦆', '%', '_', '\\'], 8)
      const ignoresCase = random() < 0.5
      const expected = isMatch(fold(pattern, ignoresCase), fold(text, ignoresCase))
      expect(createMatcher(pattern, ignoresCase)(text), `${text} LIKE ${pattern}`).toBe(expected)
    }
  })

  it('returns the same result on every call', () => {
    const matcher = createMatcher('%ab%ba%', false)
    expect(['xabbax', 'aba', 'abab', 'abba', ''].flatMap((text) => [matcher(text), matcher(text)])).toEqual([
      true,
      true,
      false,
      false,
      false,
      false,
      true,
      true,
      false,
      false,
    ])
  })

  it.each([
    ['many %', `${'%a'.repeat(500)}%b%`],
    ['a long piece that almost matches everywhere', `%${'a'.repeat(1000)}b%`],
    ['a long piece with _ in it', `%_${'a'.repeat(1000)}_b%`],
    ['a long beginning and a long end', `${'a'.repeat(5000)}%${'a'.repeat(5000)}b`],
  ])('takes time linear in the text with %s', (_, pattern) => {
    const matcher = createMatcher(pattern, true)
    const text = 'a'.repeat(100_000)
    const start = performance.now()
    expect(matcher(text)).toBe(false)
    expect(matcher(`${text}b`)).toBe(pattern.includes('b'))
    // Testing every pair of text and pattern would take a hundred million steps.
    expect(performance.now() - start).toBeLessThan(1000)
  })

  it('finds segments longer than 32 code points', () => {
    for (let length = 1; length < 130; length++) {
      const piece = Array.from({ length }, (_, i) => String.fromCharCode(0x61 + (i % 26))).join('')
      const open = `_${piece.slice(1)}`
      expect(createMatcher(`%${piece}%`, false)(`xx${piece}yy`), piece).toBe(true)
      expect(createMatcher(`%${open}%`, false)(`xx${piece}yy`), piece).toBe(true)
      expect(createMatcher(`%${piece}!%`, false)(`xx${piece}${piece}yy`), piece).toBe(false)
    }
  })

  it('rejects only segments between two % that are too long', () => {
    const long = 'a'.repeat(1025)
    expect(createMatcher(`%${long.slice(1)}%`, false)(long)).toBe(true)
    expect(createMatcher(`${long}%${long}`, false)(long + long)).toBe(true)
    expect(() => createMatcher(`%${long}%`, false)(long)).toThrow(PatternError)
  })

  it('matches _ with one code point, never with half of a surrogate pair', () => {
    expect(createMatcher('_', false)('🦆')).toBe(true)
    expect(createMatcher('__', false)('🦆')).toBe(false)
    expect(createMatcher('%\udd86', false)('🦆')).toBe(false)
  })

  it.each([
    ['STRASSE', 'straße', false],
    ['ÄÖÜ', 'äöü', true],
    ['ΣΑΣ', 'σασ', true],
    ['ΣΑΣ', 'σας', false],
    ['İ', 'i', true],
    ['İ', 'ı', false],
    ['İ', 'İ', true],
    ['ı', 'I', false],
    ['\u212a', 'k', true],
    ['𐐀', '𐐨', true],
  ])('ignores case code point by code point: %s ILIKE %s is %s', (text, pattern, expected) => {
    expect(createMatcher(pattern, true)(text)).toBe(expected)
  })

  it('is case-sensitive by default', () => {
    expect(createMatcher('a%', false)('Abc')).toBe(false)
  })

  it('throws for a lone backslash at the end only if a string matches up to it, and does not repeat the string', () => {
    const matcher = createMatcher('abc\\', false)
    expect(matcher('abc')).toBe(false)
    expect(matcher('xyz')).toBe(false)
    expect(() => matcher('abcd')).toThrow(/^The pattern ends in a backslash/)
  })

  it('detects a lone backslash at the end beforehand', () => {
    expect(['a\\', 'a\\\\\\', 'a\\\\', 'a', '', '\\a'].map(endsInLoneEscape)).toEqual([true, true, false, false, false, false])
  })
})

/** The definition of matching, by trying all choices. Correct for short texts, too slow for long ones. */
function isMatch(pattern: readonly string[], text: readonly string[]): boolean {
  const [first, ...rest] = pattern
  if (first === undefined) return text.length === 0
  if (first === '%') return isMatch(rest, text) || (text.length > 0 && isMatch(pattern, text.slice(1)))
  if (text.length === 0) return false
  if (first === '_') return isMatch(rest, text.slice(1))
  const [wanted, after] = first === '\\' ? [rest[0], rest.slice(1)] : [first, rest]
  return wanted === text[0] && isMatch(after, text.slice(1))
}

function fold(text: string, ignoresCase: boolean): readonly string[] {
  return [...(ignoresCase ? text.toLowerCase() : text)]
}

function randomPattern(random: SeededRandom): string {
  return row(random, ['a', 'b', 'A', '🦆', '%', '%', '_', '\\%', '\\_', '\\\\', '\\a'], 7)
}

function row(random: SeededRandom, pieces: readonly string[], max: number): string {
  return Array.from({ length: Math.floor(random() * max) }, () => random.pick(pieces)).join('')
}

/** The same pattern with a backslash in place of the case's escape character. */
function withBackslashes(pattern: string, sign: string): string {
  if (sign === '\\') return pattern
  const characters = [...pattern]
  let spelled = ''
  for (let i = 0; i < characters.length; i++) {
    const character = characters[i] ?? ''
    if (character === sign) spelled += `\\${characters[++i] ?? ''}`
    else spelled += character === '\\' ? '\\\\' : character
  }
  return spelled
}
