/** The format `{ pattern }`: texts of a small language that generates: characters, classes like [a-z0-9] or \d, and {n}. */
import { LONGEST_TOKEN } from '../../limits.ts'
import { counted, LEAST_POSSIBILITIES, TokenFault, type TokenFormat } from '../token-format.ts'
import { DIGITS, deterministicLayout, type Layout } from './layout-format.ts'
import { apartFrom, type Slot, slotSpace } from './text-space.ts'

/** Means something in other pattern languages and nothing here; stands for itself behind a backslash. */
const RESERVED = '.*+?|()^$[]{}'
const PRINTABLE = /^[ -~]*$/
const REPEAT = /^\{([1-9][0-9]{0,2})\}/

/** A format whose tokens are the texts of a pattern, whatever the value looks like; deterministic ones stand for texts of the same. */
export function patternFormat(pattern: string): TokenFormat {
  const space = slotSpace(parsePattern(pattern))
  if (space.domain < LEAST_POSSIBILITIES) {
    throw new TokenFault(
      `has a token pattern with ${counted(space.domain)} possibilities; ` +
        `make it longer, so that there are at least ${counted(LEAST_POSSIBILITIES)}`,
    )
  }
  const read = (text: string): Layout => {
    if (space.rankOf(text) === undefined) throw new TokenFault('must be written as the pattern of its tokens says to have one')
    return { space, context: '' }
  }
  return {
    capacity: space.domain,
    shapeOf: (value) => apartFrom(space, value),
    deterministic: { ...deterministicLayout(read), capacity: space.domain },
  }
}

/**
 * The slots of a pattern.
 * pattern = item+ ; item = (character | class | '\d' | '\' punctuation) ('{' number '}')?
 */
function parsePattern(pattern: string): Slot[] {
  if (!PRINTABLE.test(pattern)) throw fault('may hold nothing but printable ASCII characters')
  const slots: Slot[] = []
  let at = 0
  while (at < pattern.length) {
    const item = parseItem(pattern, at)
    const repeat = REPEAT.exec(pattern.slice(item.end))
    const times = Number(repeat?.[1] ?? 1)
    if (slots.length + times > LONGEST_TOKEN) throw fault(`may make at most ${LONGEST_TOKEN} characters`)
    for (let i = 0; i < times; i++) slots.push(item.slot)
    at = item.end + (repeat?.[0].length ?? 0)
  }
  return slots
}

/** One item, and where the next begins. */
interface Item {
  readonly slot: Slot
  readonly end: number
}

function parseItem(pattern: string, at: number): Item {
  const character = pattern.charAt(at)
  if (character === '[') return parseClass(pattern, at)
  if (character === '\\') return { slot: escaped(pattern, at), end: at + 2 }
  if (character === '{') throw fault('may repeat an item only by a number from 1 to 256 in braces, such as {6}', at)
  if (RESERVED.includes(character))
    throw fault('knows characters, classes, \\d and {n} alone; put a backslash before other signs', at)
  return { slot: character, end: at + 1 }
}

/** class = '[' member+ ']' */
function parseClass(pattern: string, start: number): Item {
  const characters = new Set<string>()
  let at = start + 1
  if (pattern.charAt(at) === '^') throw fault('knows no class of all characters but some', start)
  while (pattern.charAt(at) !== ']') {
    if (at >= pattern.length) throw fault('has a class that does not end', start)
    const member = parseMember(pattern, at)
    for (const character of member.slot) characters.add(character)
    at = member.end
  }
  if (characters.size === 0) throw fault('has an empty class', start)
  return { slot: [...characters].sort().join(''), end: at + 1 }
}

/** member = character '-' character | character | '\\d' | '\\' punctuation ; a hyphen before the end is itself */
function parseMember(pattern: string, at: number): Item {
  const isEscape = pattern.charAt(at) === '\\'
  const first = isEscape ? escaped(pattern, at) : pattern.charAt(at)
  const end = at + (isEscape ? 2 : 1)
  if (pattern.charAt(end) !== '-' || pattern.charAt(end + 1) === ']') return { slot: first, end }
  const last = pattern.charAt(end + 1)
  if (!isRange(first, last)) throw fault('has a range that is not of digits or of letters of one case, rising', at)
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
  if (character === '' || /[A-Za-z0-9]/.test(character)) throw fault('knows \\d alone of all letters behind a backslash', at)
  return character
}

function fault(clause: string, at?: number): TokenFault {
  return new TokenFault(`has a token pattern that is none: it ${clause}${at === undefined ? '' : ` (at character ${at + 1})`}`)
}
