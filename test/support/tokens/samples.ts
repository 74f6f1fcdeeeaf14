/** For every token kind: columns, values, and the required form of their tokens. */
import type { ColumnDefinition } from '../../../src/core/schema/column.ts'
import type { TokenFormatDefinition } from '../../../src/core/tokens/token-formats.ts'
import type { TokenDefinition, TokenKindName } from '../../../src/core/tokens/token-kind.ts'
import type { ColumnTypeName, JsonValue } from '../../../src/core/values/column-type.ts'
import { passesMod97, withIbanCheck } from './format-samples.ts'

/** One column, its values and the form of its tokens. */
export interface TokenSample {
  readonly name: string
  readonly column: ColumnDefinition
  /** The i-th value; different for every i, unless there are only two values. */
  readonly valueAt: (i: number) => JsonValue
  /** The same value as text, written here by hand and not by the vault. */
  readonly textAt: (i: number) => string
  /** True for a text that may be the token of this value. */
  readonly fits: (token: string, shown: string) => boolean
  /** True if there are only two values, so that most records share them. */
  readonly isFew: boolean
}

const digits = (i: number, length: number): string => String(i).padStart(length, '0')
const day = (i: number): string => new Date(Date.UTC(1900, 0, 1 + i)).toISOString().slice(0, 10)

/** Values of every type: the input and its text. Integers are above 2^53. */
const VALUES: Readonly<Record<ColumnTypeName, readonly [valueAt: (i: number) => JsonValue, textAt: (i: number) => string]>> = {
  STRING: [(i) => `Åsa 𝒳 ${i}`, (i) => `Åsa 𝒳 ${i}`],
  INTEGER: [(i) => String(9_007_199_254_740_993n + BigInt(i)), (i) => String(9_007_199_254_740_993n + BigInt(i))],
  DECIMAL: [(i) => `${i}.5`, (i) => `${i}.500`],
  FLOAT: [(i) => i + 0.5, (i) => `${i}.5`],
  BOOL: [(i) => i % 2 === 0, (i) => String(i % 2 === 0)],
  DATE: [day, day],
  TIME: [(i) => `06:30:00.${digits(i, 9)}`, (i) => `06:30:00.${digits(i, 9)}`.replace(/\.?0+$/, '')],
  DATETIME: [(i) => `${day(i)}T02:00:00.5+02:00`, (i) => `${day(i)}T00:00:00.5Z`],
  JSON: [(i) => ({ b: [i, null], a: 'x' }), (i) => `{"a":"x","b":[${i},null]}`],
  ARRAY: [(i) => [i, 'x'], (i) => `[${i},"x"]`],
}
const TYPES = Object.keys(VALUES) as ColumnTypeName[] // Object.keys widens to string; the record's type says which.

const VERSION_4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const VERSION_8 = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** A kind that gives values of any type a UUID. */
function uuidSamples(token: TokenDefinition, uuid: RegExp): TokenSample[] {
  return TYPES.map((type) => {
    const [valueAt, textAt] = VALUES[type]
    const options = { token, redaction: 'PLAIN_TEXT' } as const
    const column = type === 'DECIMAL' ? { type, scale: 3, ...options } : { type, ...options }
    return { name: type.toLowerCase(), column, valueAt, textAt, fits: (text) => uuid.test(text), isFew: type === 'BOOL' }
  })
}

/** One format: its values, and a check of tokens that does not use its code. */
interface FormatSample {
  readonly name: string
  readonly format: TokenFormatDefinition
  readonly type: 'STRING' | 'DATE'
  readonly textAt: (i: number) => string
  readonly fits: TokenSample['fits']
}

/** The check digit that makes a card number pass, found by trying. */
function card(i: number): string {
  const body = `4${digits(i * 7 + 1, 14)}`
  for (let last = 0; last < 10; last++) if (passesLuhn(`${body}${last}`)) return `${body}${last}`
  throw new Error('one of ten check digits passes')
}

function passesLuhn(text: string): boolean {
  let sum = 0
  for (const [place, digit] of [...text.replaceAll(/[^0-9]/g, '')].reverse().entries()) {
    const doubled = Number(digit) * (place % 2 === 0 ? 1 : 2)
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}

/** Each letter and digit replaced by a sign of its class. */
function layoutOf(text: string): string {
  return text.replaceAll(/[0-9]/g, '0').replaceAll(/[a-z]/g, 'a').replaceAll(/[A-Z]/g, 'A')
}
const sameLayout = (token: string, shown: string): boolean => layoutOf(token) === layoutOf(shown)
const keeps = (token: string, shown: string, first: number, last: number): boolean =>
  token.slice(0, first) === shown.slice(0, first) && token.slice(-last) === shown.slice(-last)
const isDay = (text: string): boolean =>
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text) && !Number.isNaN(Date.parse(text)) && new Date(text).toISOString().startsWith(text)
const spacedCard = (i: number): string => card(i).replace(/(.{4})(.{4})(.{4})/, '$1 $2 $3 ')

/** Formats of both kinds. */
const BOTH_WAYS: readonly FormatSample[] = [
  { name: 'digits', format: 'digits', type: 'STRING', textAt: (i) => `12-${digits(i * 13, 9)}`, fits: sameLayout },
  { name: 'letters', format: 'letters', type: 'STRING', textAt: (i) => `AbcD-${digits(i, 6)}-xyz`, fits: sameLayout },
  {
    name: 'phone',
    format: 'phone',
    type: 'STRING',
    textAt: (i) => `+46 70 ${digits(i * 13 + 1_000_000, 8)}`,
    fits: (token, shown) => sameLayout(token, shown) && token.startsWith('+46 '),
  },
  {
    name: 'email',
    format: 'email',
    type: 'STRING',
    textAt: (i) => `customer.${digits(i, 6)}@acme.example`,
    fits: (token) => /^[a-z0-9.]+@acme\.example$/.test(token),
  },
  {
    name: 'card',
    format: 'card',
    type: 'STRING',
    textAt: card,
    fits: (token, shown) => /^[0-9]{16}$/.test(token) && !passesLuhn(token) && keeps(token, shown, 0, 4),
  },
  {
    name: 'valid_card',
    format: { preset: 'card', keepFirst: 4, keepLast: 3, luhn: 'valid' },
    type: 'STRING',
    textAt: spacedCard,
    fits: (token, shown) => sameLayout(token, shown) && passesLuhn(token) && keeps(token, shown, 4, 3),
  },
  {
    name: 'iban',
    format: 'iban',
    type: 'STRING',
    textAt: (i) => withIbanCheck('DE', digits(i * 7919, 18)),
    fits: (token) => /^DE[0-9]{20}$/.test(token) && passesMod97(token),
  },
  { name: 'date', format: 'date', type: 'DATE', textAt: day, fits: isDay },
  {
    name: 'pattern',
    format: { pattern: '[A-Z]{3}-\\d{6}' },
    type: 'STRING',
    textAt: (i) => `ABC-${digits(i, 6)}`,
    fits: (token) => /^[A-Z]{3}-[0-9]{6}$/.test(token),
  },
]

/** Formats whose tokens cannot be decrypted. */
const ONE_WAY: readonly FormatSample[] = [
  {
    name: 'ssn',
    format: 'ssn',
    type: 'STRING',
    textAt: (i) => `${digits(101 + (i % 500), 3)}-45-${digits(Math.floor(i / 500), 4)}`,
    fits: (token) => /^(000|666|9[0-9]{2})-[0-9]{2}-[0-9]{4}$/.test(token),
  },
  {
    name: 'far_email',
    format: { preset: 'email', keepDomain: false },
    type: 'STRING',
    textAt: (i) => `c${i}@acme.example`,
    fits: (token) => /^[a-z][a-z0-9]{11}@example\.com$/.test(token),
  },
]

function formatSamples(
  kind: 'formatPreserving' | 'deterministicFormatPreserving',
  formats: readonly FormatSample[],
): TokenSample[] {
  return formats.map(({ name, format, type, textAt, fits }) => {
    const column = { type, token: { kind, format }, redaction: 'PLAIN_TEXT' } as const
    return { name, column, valueAt: textAt, textAt, fits, isFew: false }
  })
}

/** Samples by kind. A new kind gets a line here; all properties then cover it. */
export const tokenSamples: Readonly<Record<TokenKindName, readonly TokenSample[]>> = {
  random: uuidSamples('random', VERSION_4),
  deterministic: uuidSamples('deterministic', VERSION_8),
  formatPreserving: formatSamples('formatPreserving', [...BOTH_WAYS, ...ONE_WAY]),
  deterministicFormatPreserving: formatSamples('deterministicFormatPreserving', BOTH_WAYS),
  transient: uuidSamples('transient', VERSION_4),
}
