/** Parses the query of a request target, and decodes the segments of its path. */
import { VaultError } from '../../index.ts'

/** Maximum length of a query, in characters as received. */
const MAX_QUERY_CHARACTERS = 65_536
/** Maximum number of members of a query. A list of ids is one member each. */
const MAX_QUERY_MEMBERS = 2000

const NO_MEMBERS: ReadonlyMap<string, readonly string[]> = new Map()

/**
 * Returns the members of a query, the text after "?", by name. The values of a repeated member come in their order. "+" is a space; a member
 * without "=" has an empty value. Throws `invalid_request` for a percent-encoding that is malformed or no UTF-8, for NUL, and for characters
 * that must be percent-encoded, and `limit_exceeded` for over 2,000 members or 65,536 characters.
 */
export function parseQuery(text: string): ReadonlyMap<string, readonly string[]> {
  if (text === '') return NO_MEMBERS
  if (text.length > MAX_QUERY_CHARACTERS) {
    throw new VaultError('limit_exceeded', `The query is longer than the limit of ${MAX_QUERY_CHARACTERS} characters.`)
  }
  assertVisible(text, 'query')
  const pieces = text.split('&')
  if (pieces.length > MAX_QUERY_MEMBERS) {
    throw new VaultError('limit_exceeded', `The query has more than the limit of ${MAX_QUERY_MEMBERS} members.`)
  }
  const members = new Map<string, string[]>()
  for (const piece of pieces) {
    if (piece === '') continue
    const equals = piece.indexOf('=')
    const name = decodeMember(equals < 0 ? piece : piece.slice(0, equals))
    const value = equals < 0 ? '' : decodeMember(piece.slice(equals + 1))
    const values = members.get(name)
    if (values === undefined) members.set(name, [value])
    else values.push(value)
  }
  return members
}

/** Returns a segment of a path, decoded: "+" is itself. Throws `invalid_request` as `parseQuery`. */
export function decodePath(segment: string): string {
  assertVisible(segment, 'path')
  return decode(segment, 'path')
}

function decodeMember(text: string): string {
  return decode(text.includes('+') ? text.replaceAll('+', ' ') : text, 'query')
}

function decode(text: string, place: 'path' | 'query'): string {
  // Text without "%" is the common case, and stays as it is.
  const decoded = text.includes('%') ? decodePercent(text) : text
  if (decoded === undefined)
    throw new VaultError('invalid_request', `The ${place} has an invalid percent-encoding. Encode its UTF-8.`)
  if (decoded.includes('\0')) throw new VaultError('invalid_request', `The ${place} has a NUL character.`)
  if (!/^[ -~]*$/.test(text))
    throw new VaultError('invalid_request', `The ${place} has a character that must be percent-encoded.`)
  return decoded
}

/** Throws for a space, a control character, or one beyond ASCII: a target cannot have them (RFC 3986). */
function assertVisible(text: string, place: 'path' | 'query'): void {
  if (/^[!-~]*$/.test(text)) return
  throw new VaultError('invalid_request', `The ${place} has a character that must be percent-encoded.`)
}

function decodePercent(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined // A sequence that is malformed or no UTF-8. The error would quote the text.
  }
}
