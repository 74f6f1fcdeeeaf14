/** Checks a parsed JSON value for what no request may hold, and counts its members. */
import { VaultError } from '../../index.ts'
import { MAX_JSON_DEPTH, MAX_JSON_VALUES } from './scan-json-text.ts'

interface Rules {
  /** False where the text cannot have a lone surrogate. */
  readonly checkText: boolean
  readonly maxValues: number
  /** False where the text shows whether an integer beyond 2^53 lost digits, and the value does not. */
  readonly refusesLong: boolean
}

/** What has been counted so far. */
interface Tally extends Rules {
  values: number
  members: number
  longIntegers: number
}

/** What was counted. */
export type JsonTally = Pick<Tally, 'members' | 'longIntegers'>

/**
 * Returns the number of members of all objects of the value, and of integers beyond 2^53. Throws `limit_exceeded` for a value that is too large
 * or nested too deep, and `invalid_request` for what JSON does not have, for a number that is not finite, for text with a lone surrogate, and by
 * default for an integer that can have lost digits.
 */
export function checkJsonValue(
  value: unknown,
  { checkText = true, maxValues = MAX_JSON_VALUES, refusesLong = true }: Partial<Rules> = {},
): JsonTally {
  const tally: Tally = { values: 0, members: 0, longIntegers: 0, checkText, maxValues, refusesLong }
  check(value, tally, 1)
  return tally
}

/** The error for too many values in a body. */
export function tooManyValues(maxValues: number): VaultError {
  return new VaultError('limit_exceeded', `The body holds more than ${maxValues} JSON values. Send several requests.`)
}

/** The error for too deep nesting in a body. */
export function tooDeep(): VaultError {
  return new VaultError('limit_exceeded', `The body is nested deeper than ${MAX_JSON_DEPTH} lists and objects.`)
}

function check(value: unknown, tally: Tally, depth: number): void {
  if (++tally.values > tally.maxValues) throw tooManyValues(tally.maxValues)
  switch (typeof value) {
    case 'string':
      if (tally.checkText) assertWellFormed(value)
      return
    case 'number':
      if (!Number.isSafeInteger(value)) checkNumber(value, tally)
      return
    case 'boolean':
      return
    case 'object':
      if (value !== null) checkItems(value, tally, depth)
      return
    default:
      throw new VaultError('invalid_request', 'The body holds a value that JSON does not have.')
  }
}

/** From here on a number is written with an exponent, not with all of its digits. */
const WITH_EXPONENT = 1e21

function checkNumber(value: number, tally: Tally): void {
  if (!Number.isFinite(value)) throw new VaultError('invalid_request', 'The body holds a number that is too large for a double.')
  if (!Number.isInteger(value)) return
  tally.longIntegers++
  if (tally.refusesLong && Math.abs(value) < WITH_EXPONENT)
    throw new VaultError(
      'invalid_request',
      'The body holds an integer beyond 2^53, which loses digits in a parser of numbers. Send it as text, or mount the vault before that parser.',
    )
}

function checkItems(value: object, tally: Tally, depth: number): void {
  if (depth > MAX_JSON_DEPTH) throw tooDeep()
  if (Array.isArray(value)) {
    for (const item of value) check(item, tally, depth + 1)
    return
  }
  const names = Object.keys(value)
  tally.members += names.length
  for (const name of names) {
    if (tally.checkText) assertWellFormed(name)
    // An object that is no list: its members are unknown, and each is checked.
    check((value as Readonly<Record<string, unknown>>)[name], tally, depth + 1)
  }
}

/** With the u flag, a surrogate that is part of a pair does not match. */
const LONE_SURROGATE = /[\ud800-\udfff]/u

function assertWellFormed(text: string): void {
  if (LONE_SURROGATE.test(text)) throw new VaultError('invalid_request', 'The body holds text with a lone surrogate.')
}
