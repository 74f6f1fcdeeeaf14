/** The mask that replaces the matches of an RE2 pattern. Each match takes time linear in the text. */
import { type RE2JS as Pattern, RE2JS } from 're2js'
import { REDACTED_TEXT } from './redact.ts'

/** Thrown for an invalid mask definition. The message is a clause that follows the name of the column; it quotes nothing. */
export class MaskError extends Error {}

/** A piece of a replacement: literal text, or the number of a group. */
type Piece = string | number

/** Quantifiers without an upper bound. The searches of a pattern without them are bounded by the length of the pattern. */
const UNBOUNDED = /[*+]|\{[0-9]+,\}/

/**
 * Maximum number of UTF-16 units that a pattern with such a quantifier can search, summed over the matches of one text. One
 * search is linear, but a pattern that reads to the end of the text at every match is quadratic. A text above the limit (14,000
 * characters of prose, matched word by word) is returned as at REDACTED.
 */
const MAX_SEARCHED = 20_000_000

/**
 * Returns a function that replaces every match of `find`. In `replace`, `$1` and `${1}` are the text of group 1 (empty if the
 * group did not match), `${name}` of a named group, `$0` the whole match, and `$$` a dollar sign. Text without a match is
 * returned as at REDACTED: a value in an unexpected form must not be revealed. Throws `MaskError` if `find` or `replace` is invalid.
 */
export function compileReplacement(find: string, replace: string): (text: string) => string {
  const pattern = compilePattern(find)
  const pieces = parsePieces(replace, pattern)
  const budget = UNBOUNDED.test(find) ? MAX_SEARCHED : Number.POSITIVE_INFINITY
  return (text) => {
    const matcher = pattern.matcher(text)
    let result = ''
    let from = 0
    let searched = 0
    while (searched <= budget && matcher.find()) {
      searched += text.length - from + 1
      result += text.slice(from, matcher.start())
      for (const piece of pieces) result += typeof piece === 'string' ? piece : (matcher.group(piece) ?? '')
      from = matcher.end()
    }
    return searched > 0 && searched <= budget ? result + text.slice(from) : REDACTED_TEXT
  }
}

function compilePattern(find: string): Pattern {
  try {
    return RE2JS.compile(find)
  } catch {
    throw new MaskError('find is not an RE2 regular expression')
  }
}

/** A dollar sign, then another dollar sign, digits, or a number or name in braces. */
const REFERENCE = /\$(?:(\$)|([0-9]+)|\{([^}]*)\})/g

function parsePieces(replace: string, pattern: Pattern): readonly Piece[] {
  const pieces: Piece[] = []
  let from = 0
  for (const found of replace.matchAll(REFERENCE)) {
    pieces.push(replace.slice(from, found.index))
    from = found.index + found[0].length
    pieces.push(found[1] === undefined ? groupNumber(found[2] ?? found[3] ?? '', pattern) : '$')
  }
  pieces.push(replace.slice(from))
  return pieces.filter((piece) => piece !== '')
}

function groupNumber(name: string, pattern: Pattern): number {
  const names = pattern.namedGroups()
  const group = /^[0-9]{1,4}$/.test(name) ? Number(name) : Object.hasOwn(names, name) ? names[name] : undefined
  if (group === undefined || group > pattern.groupCount()) throw new MaskError('replace names a group that find does not have')
  return group
}
