/** Values for every token format, and checks of their tokens that do not use the code of the format. */
import type { TokenFormatDefinition } from '../../../src/core/tokens/token-formats.ts'
import type { SeededRandom } from '../random/seeded-random.ts'

/** One definition with values that it accepts, and checks of their tokens. */
export interface TokenFormatSample {
  readonly definition: TokenFormatDefinition
  /** A value that it accepts. There are far more than 10,000. */
  readonly value: (random: SeededRandom) => string
  /** Whether the token has the required form for this value. */
  readonly keeps: (value: string, token: string) => boolean
  /** Whether the token has the form that every token of the format has. */
  readonly holds: (token: string) => boolean
  /** A value with the fewest possible tokens, and their number, counted by hand. */
  readonly least: readonly [value: string, possibilities: bigint]
  /** Values that must be rejected, beside the hostile ones. */
  readonly refused: readonly string[]
  readonly deterministic: boolean
}

/** A string of so many of these characters. */
function textOf(random: SeededRandom, characters: string, count: number): string {
  return Array.from({ length: count }, () => random.pick([...characters])).join('')
}

const DIGITS = '0123456789'
/** Countries and their structures, written out: digits, capitals, either. */
const IBAN_SAMPLES = [
  ['DE', 'n'.repeat(18)],
  ['NO', 'n'.repeat(11)],
  ['GB', `aaaa${'n'.repeat(14)}`],
  ['FR', `${'n'.repeat(10)}${'c'.repeat(11)}nn`],
  ['MT', `aaaannnnn${'c'.repeat(18)}`],
] as const

const LOWER = 'abcdefghijklmnopqrstuvwxyz'
const UPPER = LOWER.toUpperCase()
const ALL = LOWER + LOWER.toUpperCase() + DIGITS

function one(random: SeededRandom, ...choices: readonly string[]): string {
  return random.pick(choices)
}

/** Digits as 0, lower-case letters as a, upper-case ones as A, all else as it is. */
export function classes(text: string): string {
  return text.replaceAll(/[0-9]/g, '0').replaceAll(/[a-z]/g, 'a').replaceAll(/[A-Z]/g, 'A')
}

/** The Luhn check, implemented from its description. */
export function passesLuhn(text: string): boolean {
  let sum = 0
  for (const [fromRight, digit] of [...text.replaceAll(/[^0-9]/g, '')].reverse().map(Number).entries()) {
    const counted = fromRight % 2 === 1 ? digit * 2 : digit
    sum += counted > 9 ? counted - 9 : counted
  }
  return sum % 10 === 0
}

/** The remainder by 97 of the number that an IBAN spells, implemented from its description. */
export function passesMod97(number: string): boolean {
  const turned = number.slice(4) + number.slice(0, 4)
  return BigInt([...turned].map((sign) => (/[A-Z]/.test(sign) ? sign.charCodeAt(0) - 55 : sign)).join('')) % 97n === 1n
}

/** An IBAN of this country with the check digits that pass, found by trying. */
export function withIbanCheck(country: string, rest: string): string {
  for (let check = 2; check <= 98; check++) {
    const number = `${country}${String(check).padStart(2, '0')}${rest}`
    if (passesMod97(number)) return number
  }
  throw new Error('one of 97 check digits passes')
}

/** A card number that passes the check, in a usual spelling. */
function card(random: SeededRandom, digits: number): string {
  const body = textOf(random, DIGITS, digits - 1)
  const number = [...DIGITS].map((check) => body + check).find(passesLuhn) ?? ''
  const separator = one(random, '', ' ', '-')
  return number.replaceAll(/([0-9]{4})(?=[0-9])/g, `$1${separator}`)
}

function sameEnds(value: string, token: string, first: number, last: number): boolean {
  const [one, other] = [value, token].map((text) => text.replaceAll(/[^0-9]/g, ''))
  return one?.slice(0, first) === other?.slice(0, first) && one?.slice(one.length - last) === other?.slice(other.length - last)
}

function sameClasses(value: string, token: string): boolean {
  return classes(value) === classes(token)
}

function emailDomain(text: string): string {
  return text.slice(text.lastIndexOf('@'))
}

const anything = (): boolean => true

function cardSample(
  options: { keepFirst?: number; keepLast?: number; luhn?: 'invalid' | 'valid' },
  least: bigint,
): TokenFormatSample {
  const { keepFirst = 0, keepLast = 4, luhn = 'invalid' } = options
  const min = Math.max(12, keepFirst + keepLast + 7)
  return {
    definition: { preset: 'card', ...options },
    value: (random) => card(random, min + random.below(20 - min)),
    keeps: (value, token) => sameClasses(value, token) && sameEnds(value, token, keepFirst, keepLast),
    holds: (token) => passesLuhn(token) === (luhn === 'valid'),
    least: [
      ['4000000000000000000'.slice(0, min - 1)].flatMap((body) => [...DIGITS].map((end) => body + end)).find(passesLuhn) ?? '',
      least,
    ],
    refused: [
      '4'.repeat(min - 1),
      '4'.repeat(20),
      '4111 1111  1111 1111',
      '4111.1111.1111.1111',
      '４１１１１１１１１１１１１１１１',
    ],
    deterministic: true,
  }
}

const phone: Omit<TokenFormatSample, 'definition' | 'keeps'> = {
  value: (random) =>
    one(random, '+46 8-', '+1 (555) ', '+358 40/', '0', '08-', '(030) ', '+7', '+1.') +
    one(random, '1', '23', '9-') +
    textOf(random, DIGITS, 2) +
    one(random, ' ', '-', '') +
    textOf(random, DIGITS, 5),
  holds: (token) => /^\+?[0-9 ().\-/]+$/.test(token) && [...token].filter((character) => DIGITS.includes(character)).length <= 15,
  least: ['0123456', 1_000_000n],
  refused: ['123456', '+46 8123', '1234567890123456', '12345678 ext 9', '46+81234567', '+46_812345678'],
  deterministic: true,
}

/** Every preset with its defaults and with each option, and patterns. */
export const tokenFormatSamples: Readonly<Record<string, TokenFormatSample>> = {
  digits: {
    definition: 'digits',
    value: (random) => textOf(random, DIGITS, 3) + one(random, '', '-', ' ', '/') + textOf(random, DIGITS, 3 + random.below(20)),
    keeps: sameClasses,
    holds: anything,
    least: ['12-34.56', 1_000_000n],
    refused: ['12345', '12345a', '1234567x', '１２３４５６７'],
    deterministic: true,
  },
  letters: {
    definition: { preset: 'letters' },
    value: (random) => textOf(random, ALL, 6) + one(random, ' ', "'", '-') + textOf(random, ALL, 3),
    keeps: sameClasses,
    holds: anything,
    least: ['123456', 1_000_000n],
    refused: ['Anna', 'ab123', 'Müller-Lüdenscheidt', 'hello\nworld', 'ΑΒΓΔΕΖΗ'],
    deterministic: true,
  },
  phone: {
    ...phone,
    definition: 'phone',
    keeps: (value, token) => {
      const code = /^\+(46|1|358|7)/.exec(value)?.[0] ?? (value.startsWith('+') ? 'none' : '')
      return sameClasses(value, token) && token.startsWith(code)
    },
  },
  'phone without its country': {
    ...phone,
    definition: { preset: 'phone', keepCountry: false },
    keeps: (value, token) => sameClasses(value, token) && !/^\+0/.test(token),
  },
  email: {
    definition: 'email',
    value: (random) =>
      `${textOf(random, ALL, 6)}${one(random, '.', '+', '_')}${textOf(random, ALL, 2)}@${one(random, 'acme.example', 'Ö-1.se', 'localhost')}`,
    keeps: (value, token) => emailDomain(value) === emailDomain(token),
    holds: (token) => /^[A-Za-z0-9][A-Za-z0-9.+_]*@/.test(token),
    least: ['a@b', 26n * 36n ** 11n],
    refused: [
      '',
      '@',
      'a@',
      '@b',
      'a b@c.d',
      'a@b..c',
      'a@-b.c',
      'a@b_c',
      `${'a'.repeat(65)}@b.c`,
      `${'ä'.repeat(33)}@b.c`,
      `a@${'b'.repeat(64)}`,
      `a@${'b.'.repeat(121)}bb`,
      '"a"b@c',
      'a@[b c]',
    ],
    deterministic: true,
  },
  'email without its domain': {
    definition: { preset: 'email', keepDomain: false },
    value: (random) => `${textOf(random, ALL, 1 + random.below(8))}@${textOf(random, LOWER, 5)}.example`,
    keeps: (_value, token) => token.endsWith('@example.com'),
    holds: (token) => /^[a-z][a-z0-9]{11}@/.test(token),
    least: ['a@b', 26n * 36n ** 11n],
    refused: ['', 'a@', 'a b@c.d'],
    deterministic: false,
  },
  ssn: {
    definition: 'ssn',
    value: (random) => {
      const separator = one(random, '', '-', ' ')
      return [textOf(random, DIGITS, 3), textOf(random, DIGITS, 2), textOf(random, DIGITS, 4)].join(separator)
    },
    keeps: sameClasses,
    holds: (token) => {
      const digits = token.replaceAll(/[- ]/g, '')
      const group = Number(digits.slice(3, 5))
      const taxpayer = (group >= 50 && group <= 65) || (group >= 70 && group <= 88) || (group >= 90 && group <= 99)
      return /^(000|666)/.test(digits) || (digits.startsWith('9') && !taxpayer)
    },
    least: ['123-45-6789', 57_000_000n],
    refused: ['123-456789', '123 45-6789', '12345678', '1234567890', '123.45.6789', 'abc-de-fghi'],
    deterministic: false,
  },
  card: cardSample({}, 90_000_000n),
  'card that keeps its first digits': cardSample({ keepFirst: 6, keepLast: 3 }, 9_000_000n),
  'card that keeps nothing and passes': cardSample({ keepLast: 0, luhn: 'valid' }, 10n ** 11n),
  iban: {
    definition: 'iban',
    value: (random) => {
      const [country, structure] = random.pick(IBAN_SAMPLES)
      const rest = [...structure]
        .map((sign) =>
          sign === 'n' ? textOf(random, DIGITS, 1) : sign === 'a' ? textOf(random, UPPER, 1) : textOf(random, UPPER + DIGITS, 1),
        )
        .join('')
      const number = withIbanCheck(country, rest)
      return random.chance(0.5) ? number : number.replaceAll(/(.{4})(?=.)/g, '$1 ')
    },
    keeps: (value, token) =>
      value.slice(0, 2) === token.slice(0, 2) && value.replaceAll(/[^ ]/g, 'x') === token.replaceAll(/[^ ]/g, 'x'),
    holds: (token) => {
      const number = token.replaceAll(' ', '')
      const structure = IBAN_SAMPLES.find(([country]) => country === number.slice(0, 2))?.[1] ?? ''
      const isBuilt = [...number.slice(4)].every((sign, at) =>
        ({ n: /[0-9]/, a: /[A-Z]/, c: /[A-Z0-9]/ })[structure[at] ?? '']?.test(sign),
      )
      return isBuilt && number.length === structure.length + 4 && passesMod97(number)
    },
    least: ['NO9386011117947', 10n ** 11n],
    refused: [
      'DE88370400440532013000',
      'DE8937040044053201300',
      'DE8937040044053201300A',
      'de89370400440532013000',
      'DE89  370400440532013000',
      'DE89370400440532013000 ',
      'XX89370400440532013000',
      'NO9986011117947',
      '370400440532013000',
    ],
    deterministic: true,
  },
  date: {
    definition: 'date',
    value: (random) => new Date(Math.floor(random() * 80_000 - 40_000) * 86_400_000).toISOString().slice(0, 10),
    keeps: sameClasses,
    holds: (token) => {
      const [year = 0, month = 0, day = 0] = token.split('-').map(Number)
      const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
      const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0
      return year >= 1 && day >= 1 && day <= days
    },
    // 9,999 years: 25 whole cycles of 400 years but the year 0, which would have had 366 days.
    least: ['2026-01-31', 25n * 146_097n - 366n],
    refused: ['2026-02-30', '0000-01-01', '2026-1-31', '2026-13-01', '10000-01-01', '2026-01-31T00:00:00Z', '2025-02-29'],
    deterministic: true,
  },
  pattern: {
    definition: { pattern: 'AA-[0-9a-f]{5}\\d\\-[xyz]' },
    value: (random) => `AA-${textOf(random, '0123456789abcdef', 5)}${textOf(random, DIGITS, 1)}-${textOf(random, 'xyz', 1)}`,
    keeps: (_value, token) => /^AA-[0-9a-f]{5}[0-9]-[xyz]$/.test(token),
    holds: anything,
    least: ['AA-000000-x', 16n ** 5n * 30n],
    refused: [],
    deterministic: true,
  },
}
