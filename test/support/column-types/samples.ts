/** Values of every column type: abstract keys, the spellings of each, and keys that are close to a key. */
import fc from 'fast-check'
import type { ColumnTypeName, JsonValue } from '../../../src/core/values/column-type.ts'
import type { AnyColumnType } from '../../../src/core/values/column-types.ts'
import { decimalType } from '../../../src/core/values/decimal-type.ts'

/** Samples of one type. Two inputs are one value exactly when their keys are deeply equal. */
export interface Samples<Key> {
  readonly keys: fc.Arbitrary<Key>
  /** A spelling of a key; `salt` chooses which. */
  readonly write: (key: Key, salt: number) => unknown
  /** A key that differs by little, or not at all. */
  readonly near: (key: Key, salt: number) => Key
  /** The type, if the one of the registry is one of several. */
  readonly type?: AnyColumnType
  /** The order of keys, if the type has one. */
  readonly order: ((left: Key, right: Key) => number) | undefined
}

const DAY = 86_400_000_000_000n
const FIRST = -719_162n * DAY
const LAST = 2_932_897n * DAY - 1n
const HOUR = 3_600_000_000_000n

const clamp = (value: bigint, low: bigint, high: bigint): bigint => (value < low ? low : value > high ? high : value)
const pick = <T>(choices: readonly T[], salt: number): T => choices[salt % choices.length] as T // The remainder is in range.
const bigOrder = (left: bigint, right: bigint): number => (left < right ? -1 : left > right ? 1 : 0)

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: fc.constantFrom('a', 'A', 'é', '\u0301', '\u0000', '𝒳', '\uffff', '\ue000', 'ﬁ') }),
)

const string: Samples<string> = {
  keys: text.map((value) => value.normalize('NFC')),
  write: (key, salt) => pick([key, key.normalize('NFD')], salt),
  near: (key, salt) =>
    pick([key, `${key}\u0000`, `${key}\u0301`, `${key} `, key.slice(1), key.toUpperCase(), `\u200b${key}`], salt)
      .normalize('NFC')
      .replaceAll(/[\ud800-\udfff]/gu, ''),
  order: undefined, // Texts order as given, not as normalized: tested on its own.
}

const integer: Samples<bigint> = {
  keys: fc.oneof(
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    fc.constantFrom(-(2n ** 63n), 2n ** 63n - 1n, 2n ** 53n, 2n ** 53n - 1n, -(2n ** 53n), 0n, 2n ** 32n, -(2n ** 31n)),
    fc.bigInt({ min: -300n, max: 300n }),
  ),
  write: (key, salt) => {
    const near = Number(key)
    return pick([Number.isSafeInteger(near) ? (salt > 50 && near === 0 ? -0 : near) : key, key.toString(), key], salt)
  },
  near: (key, salt) =>
    clamp(pick([key, key + 1n, key - 1n, -key, key + 2n ** 32n, key * 2n], salt), -(2n ** 63n), 2n ** 63n - 1n),
  order: bigOrder,
}

const SCALE = 4
const MAX_DECIMAL = 10n ** 18n - 1n

/** Keys are the numbers without their point. */
const decimal: Samples<bigint> = {
  keys: fc.oneof(
    fc.bigInt({ min: -MAX_DECIMAL, max: MAX_DECIMAL }),
    fc.constantFrom(-MAX_DECIMAL, MAX_DECIMAL, 0n, 1n, -1n, 10_000n, 2n ** 53n, 2n ** 53n - 1n),
    fc.bigInt({ min: -30_000n, max: 30_000n }),
  ),
  write: (key, salt) => {
    const whole = key / 10n ** BigInt(SCALE)
    const digits = (key < 0n ? -key : key).toString().padStart(SCALE + 1, '0')
    const text = `${key < 0n ? '-' : ''}${digits.slice(0, -SCALE)}.${digits.slice(-SCALE)}`
    const short = text.replace(/0+$/, '').replace(/\.$/, '')
    const isShort = digits.length <= 15
    return pick(
      [text, short, `${text}00`, isShort ? Number(text) : text, whole * 10n ** BigInt(SCALE) === key ? whole : short],
      salt,
    )
  },
  near: (key, salt) =>
    clamp(
      pick([key, key + 1n, key - 1n, -key, key * 10n, key + 10n ** BigInt(SCALE), key / 10n], salt),
      -MAX_DECIMAL,
      MAX_DECIMAL,
    ),
  order: bigOrder,
  type: decimalType(SCALE) as AnyColumnType, // Its values only ever meet its own functions.
}

const float: Samples<number> = {
  keys: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
  write: (key, salt) => (key === 0 && salt % 2 === 1 ? -0 : key),
  near: (key, salt) => {
    const moved = pick([key, key * (1 + Number.EPSILON), -key, key / 2, key + Number.MIN_VALUE], salt)
    return Number.isFinite(moved) ? moved + 0 : key
  },
  order: (left, right) => Math.sign(left - right) || 0,
}

const bool: Samples<boolean> = {
  keys: fc.boolean(),
  write: (key) => key,
  near: (key, salt) => pick([key, !key], salt),
  order: (left, right) => Number(left) - Number(right),
}

const date: Samples<number> = {
  keys: fc.integer({ min: -719_162, max: 2_932_896 }),
  write: isoDay,
  near: (key, salt) => Math.max(-719_162, Math.min(2_932_896, key + pick([0, 1, -1, 365, 366], salt))),
  order: (left, right) => left - right,
}

const time: Samples<bigint> = {
  keys: fc.oneof(
    fc.bigInt({ min: 0n, max: DAY - 1n }),
    fc.bigInt({ min: 0n, max: 86_399n }).map((second) => second * 1_000_000_000n),
  ),
  write: (key, salt) => new Date(Number(key / 1_000_000n)).toISOString().slice(11, 19) + fraction(key, salt),
  near: (key, salt) => clamp(key + pick([0n, 1n, -1n, 1_000_000_000n, 100_000_000n], salt), 0n, DAY - 1n),
  order: bigOrder,
}

const datetime: Samples<bigint> = {
  keys: fc.oneof(
    fc.bigInt({ min: FIRST, max: LAST }),
    fc.bigInt({ min: FIRST / 1_000_000n, max: LAST / 1_000_000n }).map((milli) => milli * 1_000_000n),
    fc.constantFrom(FIRST, LAST, 0n, -1n, 951_782_400n * 1_000_000_000n),
  ),
  write: writeInstant,
  near: (key, salt) => clamp(key + pick([0n, 1n, -1n, HOUR, -HOUR, 60_000_000_000n, DAY], salt), FIRST, LAST),
  order: bigOrder,
}

const asParsed = (value: unknown): JsonValue => JSON.parse(JSON.stringify(value))
const plainJson = fc.jsonValue({ maxDepth: 4 }).map(asParsed)

const json: Samples<JsonValue> = {
  keys: fc
    .oneof(
      plainJson,
      fc.dictionary(text, plainJson).map(asParsed),
      fc.constant(JSON.parse('{"__proto__":{"x":1},"constructor":2}')),
    )
    .filter((value) => value !== null),
  write: (key, salt) => (salt % 2 === 0 ? key : turnedRound(key)),
  near: (key, salt) =>
    pick<JsonValue>([key, [key], { key }, `${JSON.stringify(key)}`, Array.isArray(key) ? [...key].reverse() : [key, null]], salt),
  order: undefined,
}

const array: Samples<JsonValue> = {
  keys: fc.array(plainJson, { maxLength: 5 }),
  write: json.write,
  near: (key, salt) =>
    pick<JsonValue>([key, [key], Array.isArray(key) ? [...key].reverse() : [], Array.isArray(key) ? [...key, null] : []], salt),
  order: undefined,
}

/** Samples by type. A new type gets a line here; all properties then cover it. */
export const columnTypeSamples: Readonly<Record<ColumnTypeName, Samples<unknown>>> = {
  STRING: string as Samples<unknown>, // Keys of one type's samples only ever meet that type's functions.
  INTEGER: integer as Samples<unknown>,
  DECIMAL: decimal as Samples<unknown>,
  FLOAT: float as Samples<unknown>,
  BOOL: bool as Samples<unknown>,
  DATE: date as Samples<unknown>,
  TIME: time as Samples<unknown>,
  DATETIME: datetime as Samples<unknown>,
  JSON: json as Samples<unknown>,
  ARRAY: array as Samples<unknown>,
}

function isoDay(days: number): string {
  return new Date(days * 86_400_000).toISOString().slice(0, 10)
}

/** The fraction of a second, with trailing zeros as salt says. */
function fraction(nanos: bigint, salt: number): string {
  const digits = (((nanos % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n).toString().padStart(9, '0')
  const shortest = digits.replace(/0+$/, '')
  const written = digits.slice(0, Math.max(shortest.length, salt % 10))
  return written === '' ? '' : `.${written}`
}

function writeInstant(key: bigint, salt: number): unknown {
  if (salt % 3 === 0 && key % 1_000_000n === 0n) return new Date(Number(key / 1_000_000n))
  const minutes = pick([0, 60, -60, 330, -345, 1439, -1439, 1], salt)
  const local = key + BigInt(minutes) * 60_000_000_000n
  const shifted = local < FIRST || local > LAST ? 0 : minutes
  const shown = key + BigInt(shifted) * 60_000_000_000n
  const milliseconds = Number((shown - (((shown % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n)) / 1_000_000n)
  const clock = new Date(milliseconds).toISOString().slice(0, 19)
  const size = Math.abs(shifted)
  const hours = String(Math.floor(size / 60)).padStart(2, '0')
  const offset =
    shifted === 0
      ? pick(['Z', 'z', '+00:00', '-00:00'], salt)
      : `${shifted < 0 ? '-' : '+'}${hours}:${String(size % 60).padStart(2, '0')}`
  return `${pick([clock, clock.replace('T', 't')], salt)}${fraction(shown, salt)}${offset}`
}

/** The same value with the members of every object in the opposite order. */
function turnedRound(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(turnedRound)
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, member]) => [name, turnedRound(member)]),
  )
}
