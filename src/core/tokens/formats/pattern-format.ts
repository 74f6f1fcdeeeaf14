/** The format `{ pattern }`: tokens of a small pattern language with characters, classes like [a-z0-9] or \d, and {n}. */
import { MAX_TOKEN_LENGTH } from '../../limits.ts'
import { formatCount, MIN_DOMAIN, type TokenFormat, TokenFormatError } from '../token-format.ts'
import { DIGITS, deterministicTemplate, type TextTemplate } from './template-format.ts'
import { excluding, type Slot, slotDomain } from './token-domain.ts'

/** Characters with a meaning in other pattern languages. Here they need a backslash, and then mean themselves. */
const RESERVED = '.*+?|()^$[]{}'
const PRINTABLE = /^[ -~]*$/
const REPEAT = /^\{([1-9][0-9]{0,2})\}/

/** Returns a format whose tokens match a pattern, for any value. Values with deterministic tokens must match the pattern too. Throws `TokenFormatError` for an invalid pattern. */
export function patternFormat(pattern: string): TokenFormat {
  const slots = parsePattern(pattern)
  const tokens = slotDomain(slots)
  if (tokens.size < MIN_DOMAIN) {
    throw new TokenFormatError(
      `has a token pattern with ${formatCount(tokens.size)} possibilities; ` +
        `make it longer, so that there are at least ${formatCount(MIN_DOMAIN)}`,
    )
  }
  const read = (text: string): TextTemplate => {
    if (tokens.rankOf(text) === undefined) throw new TokenFormatError('must match the token pattern to have a token')
    return { tokens, tweakText: '' }
  }
  return {
    pattern: slots.map(toClass).join(''),
    capacity: tokens.size,
    rangeOf: (value) => excluding(tokens, value),
    deterministic: { ...deterministicTemplate(read), capacity: tokens.size },
  }
}

/** Returns a slot as a class of a regular expression, which has no sign of its own in it. */
function toClass(slot: Slot): string {
  return `[${slot.replaceAll(/[^A-Za-z0-9]/g, (sign) => `\\x${sign.charCodeAt(0).toString(16).padStart(2, '0')}`)}]`
}

/**
 * Returns the slots of a pattern.
 * pattern = item+ ; item = (character | class | '\d' | '\' punctuation) ('{' number '}')?
 */
function parsePattern(pattern: string): Slot[] {
  if (!PRINTABLE.test(pattern)) throw invalid('only printable ASCII characters are supported')
  const slots: Slot[] = []
  let at = 0
  while (at < pattern.length) {
    const item = parseItem(pattern, at)
    const repeat = REPEAT.exec(pattern.slice(item.end))
    const times = Number(repeat?.[1] ?? 1)
    if (slots.length + times > MAX_TOKEN_LENGTH) throw invalid(`a token can have at most ${MAX_TOKEN_LENGTH} characters`)
    for (let i = 0; i < times; i++) slots.push(item.slot)
    at = item.end + (repeat?.[0].length ?? 0)
  }
  return slots
}

/** One item, and the offset of the next. */
interface Item {
  readonly slot: Slot
  readonly end: number
}

function parseItem(pattern: string, at: number): Item {
  const character = pattern.charAt(at)
  if (character === '[') return parseClass(pattern, at)
  if (character === '\\') return { slot: escaped(pattern, at), end: at + 2 }
  if (character === '{') throw invalid('a repetition must be a number from 1 to 256 in braces, such as {6}', at)
  if (RESERVED.includes(character))
    throw invalid('only characters, classes, \\d and {n} are supported; put a backslash before other signs', at)
  return { slot: character, end: at + 1 }
}

/** class = '[' member+ ']' */
function parseClass(pattern: string, start: number): Item {
  const characters = new Set<string>()
  let at = start + 1
  if (pattern.charAt(at) === '^') throw invalid('negated classes are not supported', start)
  while (pattern.charAt(at) !== ']') {
    if (at >= pattern.length) throw invalid('a class is not closed', start)
    const member = parseMember(pattern, at)
    for (const character of member.slot) characters.add(character)
    at = member.end
  }
  if (characters.size === 0) throw invalid('a class is empty', start)
  return { slot: [...characters].sort().join(''), end: at + 1 }
}

/** member = character '-' character | character | '\\d' | '\\' punctuation ; a hyphen before the end is itself */
function parseMember(pattern: string, at: number): Item {
  const isEscape = pattern.charAt(at) === '\\'
  const first = isEscape ? escaped(pattern, at) : pattern.charAt(at)
  const end = at + (isEscape ? 2 : 1)
  if (pattern.charAt(end) !== '-' || pattern.charAt(end + 1) === ']') return { slot: first, end }
  const last = pattern.charAt(end + 1)
  if (!isRange(first, last)) throw invalid('a range must be of digits or of letters of one case, in rising order', at)
  const span = last.charCodeAt(0) - first.charCodeAt(0) + 1
  return { slot: Array.from({ length: span }, (_, i) => String.fromCharCode(first.charCodeAt(0) + i)).join(''), end: end + 2 }
}

function isRange(first: string, last: string): boolean {
  const both = first + last
  return first <= last && (/^[0-9]{2}$/.test(both) || /^[a-z]{2}$/.test(both) || /^[A-Z]{2}$/.test(both))
}

function escaped(pattern: string, at: number): Slot {
  const character = pattern.charAt(at + 1)
  if (character === 'd') return DIGITS
  if (character === '' || /[A-Za-z0-9]/.test(character))
    throw invalid('of letters and digits, only \\d can follow a backslash', at)
  return character
}

function invalid(clause: string, at?: number): TokenFormatError {
  return new TokenFormatError(`has an invalid token pattern: ${clause}${at === undefined ? '' : ` (at character ${at + 1})`}`)
}
