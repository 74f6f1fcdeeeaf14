/** The mask that replaces what an RE2 pattern matches, in time linear for each match. */
import type { RE2JS as Pattern } from 're2js'
import { RE2JS } from 're2js'
import { REDACTED_TEXT } from './redact.ts'

/** A mask definition that cannot work, found when the schema is defined. */
export class MaskFault extends Error {}

/** A piece of a replacement: text as it is, or the number of a group. */
type Piece = string | number

/** Quantifiers without an upper end. A pattern without them looks no further than its own length for each match. */
const UNBOUNDED = /[*+]|\{[0-9]+,\}/

/**
 * Characters a pattern with such a quantifier may be given to search, summed over the matches of one text. A single search
 * is linear, but a pattern that looks to the end of the text at each of its matches costs their product; a text that takes
 * more than this (14,000 characters of prose, word by word) is shown as at REDACTED.
 */
const MOST_SEARCHED = 20_000_000

/**
 * A function that replaces every match of `find`. In `replace`, `$1` and `${1}` are what group 1 matched (nothing where
 * it took no part), `${name}` a named group, `$0` the whole match, `$$` a dollar. A text the pattern does not match is
 * shown as at REDACTED: a value written in a form the author did not think of must not come out whole.
 */
export function compileReplacement(find: string, replace: string): (text: string) => string {
  const pattern = compilePattern(find)
  const pieces = parsePieces(replace, pattern)
  const budget = UNBOUNDED.test(find) ? MOST_SEARCHED : Number.POSITIVE_INFINITY
  return (text) => {
    const matcher = pattern.matcher(text)
    let shown = ''
    let from = 0
    let searched = 0
    while (searched <= budget && matcher.find()) {
      searched += text.length - from + 1
      shown += text.slice(from, matcher.start())
      for (const piece of pieces) shown += typeof piece === 'string' ? piece : (matcher.group(piece) ?? '')
      from = matcher.end()
    }
    return searched > 0 && searched <= budget ? shown + text.slice(from) : REDACTED_TEXT
  }
}

function compilePattern(find: string): Pattern {
  try {
    return RE2JS.compile(find)
  } catch {
    throw new MaskFault('find is no regular expression of RE2 syntax')
  }
}

/** A dollar and what follows it: another dollar, digits, or a number or name in braces. */
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
  if (group === undefined || group > pattern.groupCount()) throw new MaskFault('replace names a group that find does not have')
  return group
}
