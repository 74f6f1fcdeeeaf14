/** Parses the JSON text of a body, strictly. */
import { VaultError } from '../../index.ts'
import { checkJsonValue, tooDeep, tooManyValues } from './check-json-value.ts'
import { locateJsonError } from './locate-json-error.ts'
import { MAX_JSON_DEPTH, MAX_JSON_VALUES, scanJsonText } from './scan-json-text.ts'

/**
 * Returns the value. `__proto__` is a member like any other. Throws `invalid_request` for text that is not JSON, with a byte order mark,
 * a lone surrogate (also as an escape), two members of one name in an object, or a number too large for a double; the message has the line
 * and the column, and no text of the body. Throws `limit_exceeded` for over 100,000 values and over 64 levels.
 */
export function parseJsonText(text: string): unknown {
  // Limits come first: to refuse a body must cost less than to parse it.
  const counts = scanJsonText(text)
  if (counts.depth > MAX_JSON_DEPTH) throw tooDeep()
  if (counts.values > MAX_JSON_VALUES) throw tooManyValues()
  const value = parse(text)
  try {
    // Of members with one name JSON.parse keeps the last, so fewer members than colons are left.
    if (checkJsonValue(value, text.includes('\\u')) === counts.members && text.isWellFormed()) return value
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

/** Returns the error with the place of the fault, which a slower pass over the text finds. */
function invalid(text: string): VaultError {
  const { reason, line, column } = locateJsonError(text)
  return new VaultError('invalid_request', `The body ${reason}: line ${line}, column ${column}.`)
}
