/** Definitions of token formats: short and long forms, rejected shapes, and limits. */
import { expect, it } from 'vitest'
import { formatCount, TokenFormatError } from '../../../src/core/tokens/token-format.ts'
import { compileFormat, TOKEN_PRESETS, tokenFormatShape } from '../../../src/core/tokens/token-formats.ts'

it('takes the name of a preset as the preset with its defaults', () => {
  const values = {
    digits: '123456',
    letters: 'abcdef',
    phone: '+46 8123456',
    email: 'ada@acme.example',
    ssn: '123-45-6789',
    card: '4111111111111111',
    iban: 'DE89 3704 0044 0532 0130 00',
    date: '2026-01-31',
  }
  for (const preset of TOKEN_PRESETS) {
    const [short, long] = [compileFormat(preset), compileFormat({ preset })]
    expect(short.capacity).toBe(long.capacity)
    for (const rank of [0n, 12_345n])
      expect(short.rangeOf(values[preset]).tokenAt(rank)).toBe(long.rangeOf(values[preset]).tokenAt(rank))
  }
})

it('applies options', () => {
  const card = '4111111111111111'
  expect(compileFormat('card').rangeOf(card).tokenAt(0n)).toMatch(/1111$/)
  expect(compileFormat({ preset: 'card', keepFirst: 4, keepLast: 0 }).rangeOf(card).tokenAt(0n)).toMatch(/^4111/)
  expect(compileFormat({ preset: 'email', keepDomain: false }).rangeOf('a@b').tokenAt(0n)).toMatch(/@example\.com$/)
  expect(compileFormat({ preset: 'phone', keepCountry: false }).rangeOf('+46 8123456').tokenAt(0n)).toBe('+10 0000000')
  expect(compileFormat({ pattern: '\\d{6}' }).capacity).toBe(10n ** 6n)
})

it('has no deterministic form for formats that cannot be inverted', () => {
  const kinds = [...TOKEN_PRESETS.filter((preset) => compileFormat(preset).deterministic === undefined)]
  expect(kinds).toEqual(['ssn'])
  expect(compileFormat({ preset: 'email', keepDomain: false }).deterministic).toBeUndefined()
})

it('rejects a definition with too few possible tokens, with a clause about the column', () => {
  for (const definition of [{ preset: 'card', keepFirst: 6, keepLast: 4 } as const, { pattern: 'x\\d{5}' }]) {
    expect(() => compileFormat(definition)).toThrow(TokenFormatError)
    expect(() => compileFormat(definition)).toThrow(/^has a token (format|pattern) with [0-9,]+ possibilities/)
  }
})

it.each([
  'bic',
  '',
  null,
  7,
  {},
  { preset: 'bic' },
  { preset: 'digits', keepLast: 4 },
  { preset: 'card', keepLast: -1 },
  { preset: 'card', keepLast: 2.5 },
  { preset: 'card', keepFirst: 20 },
  { preset: 'card', luhn: 'maybe' },
  { preset: 'card', keepfirst: 6 },
  { preset: 'email', keepDomain: 'yes' },
  { preset: 'phone', keepDomain: true },
  { pattern: '' },
  { pattern: 'x'.repeat(1001) },
  { pattern: '\\d{6}', preset: 'digits' },
])('rejects the shape %j', (definition) => {
  expect(tokenFormatShape.safeParse(definition).success).toBe(false)
})

it('writes a comma after every three digits', () => {
  expect([0n, 12n, 999n, 1000n, 900_000n, 10n ** 9n].map(formatCount)).toEqual([
    '0',
    '12',
    '999',
    '1,000',
    '900,000',
    '1,000,000,000',
  ])
})
