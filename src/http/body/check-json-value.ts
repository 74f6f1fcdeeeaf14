/** Checks a parsed JSON value for what no request may hold, and counts its members. */
import { VaultError } from '../../index.ts'
import { MAX_JSON_DEPTH, MAX_JSON_VALUES } from './scan-json-text.ts'

/** What has been counted so far. */
interface Tally {
  values: number
  members: number
}

/**
 * Returns the number of members of all objects of the value. Throws `limit_exceeded` for a value that is too large or nested too deep, and
 * `invalid_request` for what JSON does not have, for a number that is not finite, and for text with a lone surrogate. `checkText` is false
 * where the text cannot have one.
 */
export function checkJsonValue(value: unknown, checkText = true): number {
  const tally: Tally = { values: 0, members: 0 }
  check(value, checkText, tally, 1)
  return tally.members
}

/** The error for too many values in a body. */
export function tooManyValues(): VaultError {
  return new VaultError('limit_exceeded', `The body holds more than ${MAX_JSON_VALUES} JSON values. Send several requests.`)
}

/** The error for too deep nesting in a body. */
export function tooDeep(): VaultError {
  return new VaultError('limit_exceeded', `The body is nested deeper than ${MAX_JSON_DEPTH} lists and objects.`)
}

function check(value: unknown, checkText: boolean, tally: Tally, depth: number): void {
  if (++tally.values > MAX_JSON_VALUES) throw tooManyValues()
  switch (typeof value) {
    case 'string':
      if (checkText) assertWellFormed(value)
      return
    case 'number':
      if (!Number.isFinite(value))
        throw new VaultError('invalid_request', 'The body holds a number that is too large for a double.')
      return
    case 'boolean':
      return
    case 'object':
      if (value !== null) checkItems(value, checkText, tally, depth)
      return
    default:
      throw new VaultError('invalid_request', 'The body holds a value that JSON does not have.')
  }
}

function checkItems(value: object, checkText: boolean, tally: Tally, depth: number): void {
  if (depth > MAX_JSON_DEPTH) throw tooDeep()
  if (Array.isArray(value)) {
    for (const item of value) check(item, checkText, tally, depth + 1)
    return
  }
  const names = Object.keys(value)
  tally.members += names.length
  for (const name of names) {
    if (checkText) assertWellFormed(name)
    // An object that is no list: its members are unknown, and each is checked.
    check((value as Readonly<Record<string, unknown>>)[name], checkText, tally, depth + 1)
  }
}

/** With the u flag, a surrogate that is part of a pair does not match. */
const LONE_SURROGATE = /[\ud800-\udfff]/u

function assertWellFormed(text: string): void {
  if (LONE_SURROGATE.test(text)) throw new VaultError('invalid_request', 'The body holds text with a lone surrogate.')
}
