/** Parses the JSON text of a body, strictly. */
import { VaultError } from '../../index.ts'
import { checkJsonValue, tooDeep, tooManyValues } from './check-json-value.ts'
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
