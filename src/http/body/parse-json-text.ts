/** Parses the JSON text of a body, strictly, and checks values that another parser made of one. */
import { VaultError } from '../../index.ts'
import { isRounded, locateJsonError } from './locate-json-error.ts'
import { endOfString, MAX_JSON_DEPTH, MAX_JSON_VALUES, scanJsonText } from './scan-json-text.ts'

/**
 * Returns the value. `__proto__` is a member like any other. Throws `invalid_request` for text that is not JSON, for a byte order mark, a
 * lone surrogate (also as an escape), two members of one name in an object, a number too large for a double, and an integer that a double
 * cannot hold with all of its digits. The message has the line and the column if the text is not long, and never text of the body. Throws `limit_exceeded` for over `maxValues` values and over 64 levels.
 */
export function parseJsonText(text: string, maxValues = MAX_JSON_VALUES): unknown {
  // Limits come first: to refuse a body must cost less than to parse it.
  const counts = scanJsonText(text, maxValues)
  if (counts.depth > MAX_JSON_DEPTH) throw tooDeep()
  if (counts.values > maxValues) throw tooManyValues(maxValues)
  const value = parse(text)
  try {
    // Of members with one name JSON.parse keeps the last, so fewer members than colons are left.
    const { members, longIntegers } = checkJsonValue(value, { checkText: hasSurrogate(text), maxValues, refusesLong: false })
    if (members === counts.members && (longIntegers === 0 || !losesDigits(text))) return value
  } catch {
    // Below, with its position.
  }
  throw invalid(text)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw invalid(text) // The message of the engine quotes the body.
  }
}

/** True if text of the value can have a surrogate. Most bodies have no backslash, which is the cheapest to find. */
function hasSurrogate(text: string): boolean {
  return (text.includes('\\') && /\\u[dD][89a-fA-F]/.test(text)) || /[\ud800-\udfff]/.test(text)
}

/** A string of JSON begins, or there is a number. */
const QUOTE_OR_NUMBER = /"|-?\d[\d.eE+-]*/g

/** True for JSON with an integer that a double rounds. */
function losesDigits(text: string): boolean {
  QUOTE_OR_NUMBER.lastIndex = 0
  for (let found = QUOTE_OR_NUMBER.exec(text); found !== null; found = QUOTE_OR_NUMBER.exec(text)) {
    if (found[0] === '"') QUOTE_OR_NUMBER.lastIndex = endOfString(text, found.index) + 1
    else if (isRounded(found[0])) return true
  }
  return false
}

/** Maximum length of text in which the place of an error is searched: the search is slow, and other requests wait for it. */
const MAX_LOCATED = 1_000_000

/** Returns the error with its place, which a slower pass over the text finds. */
function invalid(text: string): VaultError {
  if (text.length > MAX_LOCATED) {
    return new VaultError(
      'invalid_request',
      'The body is not JSON, or has two members of the same name in one object, a lone surrogate, a number that is too large for a double, or an integer that loses digits as a number.',
    )
  }
  const { reason, line, column } = locateJsonError(text)
  return new VaultError('invalid_request', `The body ${reason}: line ${line}, column ${column}.`)
}

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
function tooManyValues(maxValues: number): VaultError {
  return new VaultError('limit_exceeded', `The body holds more than ${maxValues} JSON values. Send several requests.`)
}

/** The error for too deep nesting in a body. */
function tooDeep(): VaultError {
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
