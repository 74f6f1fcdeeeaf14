/** Redaction: the levels at which a result shows a value, the text of a value at each, and masks, as plain JSON and compiled. */
import { type RE2JS as Pattern, RE2JS } from 're2js'
import { unreachable } from './util/causes.ts'
import { required } from './util/lists.ts'
import { readOptions } from './util/options.ts'
import { IBAN } from './util/text.ts'

/** A mask as a schema defines it. */
export type MaskDefinition =
  | { readonly preset: 'keepFirst' | 'keepLast'; readonly count: number }
  | { readonly preset: 'email' | 'ssn' | 'card' | 'cardBin' | 'iban' }
  | { readonly find: string; readonly replace: string }

/**
 * Builders of masks. All return plain JSON.
 * `keepFirst(n)`, `keepLast(n)` keep n code points and replace each other one by `*`: `Ada` -> `A**`.
 * `email` keeps the first character and the domain: `ada@acme.example` -> `a***@acme.example`.
 * `ssn` keeps the last four of nine digits: `123-45-6789` -> `***-**-6789`.
 * `card` keeps the last four of 12 to 19 digits: `4111 1111 1111 1111` -> `************1111`.
 * `cardBin` keeps the first six too, of 15 to 19 digits: `4111 1111 1111 1111` -> `411111******1111`.
 * `iban` keeps the country and the last four characters: `DE89 3704 0044 0532 0130 00` -> `DE****************3000`.
 * `replace({ find, replace })` replaces every match of the RE2 pattern `find` by `replace`; `$1` and `${1}` insert groups.
 */
export const mask = {
  keepFirst: (count: number): { readonly preset: 'keepFirst'; readonly count: number } => ({ preset: 'keepFirst', count }),
  keepLast: (count: number): { readonly preset: 'keepLast'; readonly count: number } => ({ preset: 'keepLast', count }),
  email: { preset: 'email' },
  ssn: { preset: 'ssn' },
  card: { preset: 'card' },
  cardBin: { preset: 'cardBin' },
  iban: { preset: 'iban' },
  replace: (options: { readonly find: string; readonly replace: string }): { readonly find: string; readonly replace: string } =>
    readOptions(options, ['find', 'replace'], { of: 'mask.replace' }),
} as const

/** Maximum number of code points that a mask can keep. */
const MAX_KEPT = 1000

/** Returns the mask as a function from the text of a value to its masked form. Throws `MaskError` for an invalid definition. */
export function compileMask(definition: MaskDefinition): (text: string) => string {
  if ('find' in definition) return compileReplacement(definition.find, definition.replace)
  const { preset } = definition
  switch (preset) {
    case 'keepFirst':
      return keepFirst(checkedCount(definition.count))
    case 'keepLast':
      return keepLast(checkedCount(definition.count))
    case 'email':
      return maskEmail
    case 'ssn':
      return maskSsn
    case 'card':
      return maskCard
    case 'cardBin':
      return maskCardBin
    case 'iban':
      return maskIban
    default:
      return unreachable(preset)
  }
}

/**
 * Returns whether a text may be the masked form of some value. A preset writes a star for each hidden character, so only the empty text is
 * without one; a replacement can write anything.
 */
export function mayBeMaskedBy(definition: MaskDefinition): (text: string) => boolean {
  return 'find' in definition ? () => true : (text) => text === '' || text.includes('*')
}

function checkedCount(count: number): number {
  if (!Number.isInteger(count) || count < 1 || count > MAX_KEPT) throw new MaskError(`a mask keeps 1 to ${MAX_KEPT} characters`)
  return count
}

function keepFirst(count: number): (text: string) => string {
  return (text) => {
    let end = 0
    for (let i = 0; i < count && end < text.length; i++) end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1
    return end === text.length ? stars(text) : text.slice(0, end) + stars(text.slice(end))
  }
}

function keepLast(count: number): (text: string) => string {
  return (text) => {
    let start = text.length
    for (let i = 0; i < count && start > 0; i++) start -= (text.codePointAt(start - 2) ?? 0) > 0xffff ? 2 : 1
    return start === 0 ? stars(text) : stars(text.slice(0, start)) + text.slice(start)
  }
}

/** Returns one star for each code point. */
function stars(hidden: string): string {
  return '*'.repeat(/[\ud800-\udfff]/.test(hidden) ? [...hidden].length : hidden.length)
}

/** Replaces a local part of any length. */
const HIDDEN_LOCAL = '***'

/** Labels with dots between them. Other text after an @ could be a secret and is hidden. */
const DOMAIN =
  /^[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]*[\p{L}\p{N}\p{M}])?(?:\.[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]*[\p{L}\p{N}\p{M}])?)*$/u

/** Maximum length of a domain name. Source: RFC 1035, section 2.3.4. */
const MAX_DOMAIN_LENGTH = 253

function maskEmail(text: string): string {
  const at = text.lastIndexOf('@')
  const domain = text.slice(at + 1)
  if (at < 1 || domain.length > MAX_DOMAIN_LENGTH || !DOMAIN.test(domain)) return HIDDEN_LOCAL
  const first = String.fromCodePoint(required(text.codePointAt(0), 'The first character'))
  return `${first.length < at ? first : ''}${HIDDEN_LOCAL}@${domain}`
}

function maskSsn(text: string): string {
  const digits = digitsOf(text)
  return `***-**-${digits?.length === 9 ? digits.slice(-4) : '****'}`
}

function maskCard(text: string): string {
  const digits = digitsOf(text)
  const isCard = digits !== undefined && digits.length >= 12 && digits.length <= 19
  return `************${isCard ? digits.slice(-4) : '****'}`
}

/**
 * Never more than the first six and the last four digits, which is what PCI DSS v4.0.1, 3.4.1, lets a display show of a card number. A shorter number,
 * in which they would leave fewer than five hidden, shows the last four.
 */
function maskCardBin(text: string): string {
  const digits = digitsOf(text)
  const isLong = digits !== undefined && digits.length >= 15 && digits.length <= 19
  return isLong ? `${digits.slice(0, 6)}******${digits.slice(-4)}` : maskCard(text)
}

/** Reads spaces and hyphens too. The number of stars is the same for all countries and all other texts. */
function maskIban(text: string): string {
  const number = text.length <= 80 ? text.replaceAll(/[ -]/g, '') : ''
  return IBAN.test(number) ? `${number.slice(0, 2)}${'*'.repeat(16)}${number.slice(-4)}`.toUpperCase() : '*'.repeat(22)
}

/** Returns the digits of a number written with spaces or hyphens; undefined if the text has other characters or more than 40. */
function digitsOf(text: string): string | undefined {
  return text.length <= 40 && /^[0-9 -]*$/.test(text) ? text.replaceAll(/[ -]/g, '') : undefined
}

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
function compileReplacement(find: string, replace: string): (text: string) => string {
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

/** How a value is returned: in full, masked, or as a constant. */
export type RedactionLevel = 'PLAIN_TEXT' | 'MASKED' | 'REDACTED'

/** The level of a field that is not shown in plain text. */
export type LoweredLevel = Exclude<RedactionLevel, 'PLAIN_TEXT'>

/** The levels of the fields that are not shown in plain text, by name. */
export type Levels<Name extends string = string> = { readonly [N in Name]?: LoweredLevel }

/** The levels of a record that is shown in plain text: one object for all of them. */
export const NONE_LOWERED: Levels<never> = Object.freeze({})

/** A level as a request names it. `DEFAULT` means the level of the column. */
export type Redaction = RedactionLevel | 'DEFAULT'

/** All levels, from the one that reveals most to the one that reveals least. */
export const REDACTION_LEVELS: readonly RedactionLevel[] = ['PLAIN_TEXT', 'MASKED', 'REDACTED']

const RANKS: Readonly<Record<RedactionLevel, number>> = { PLAIN_TEXT: 2, MASKED: 1, REDACTED: 0 }

/** Returns the level that reveals less. It applies when one level is requested and the other is granted. */
export function lowerLevel(left: RedactionLevel, right: RedactionLevel): RedactionLevel {
  return RANKS[left] < RANKS[right] ? left : right
}

/** Returns the level that shows more; undefined shows nothing. */
export function higherLevel(left: RedactionLevel | undefined, right: RedactionLevel | undefined): RedactionLevel | undefined {
  if (left === undefined || right === undefined) return left ?? right
  return lowerLevel(left, right) === left ? right : left
}

/**
 * Returns the level at which a value of a column is shown, where one is requested and the other is granted. Without a mask there is none between plain
 * text and redacted.
 */
export function levelShown(
  { level: own, mask }: { readonly level: RedactionLevel; readonly mask?: unknown },
  asked: Redaction,
  allowed: RedactionLevel,
): RedactionLevel {
  const level = lowerLevel(asked === 'DEFAULT' ? own : asked, allowed)
  return level === 'MASKED' && mask === undefined ? 'REDACTED' : level
}

/** Every value of `redaction` in a request. */
export const REDACTIONS: readonly string[] = ['DEFAULT', ...REDACTION_LEVELS]

/** True if the input is a level. */
export function isRedactionLevel(input: unknown): input is RedactionLevel {
  return typeof input === 'string' && Object.hasOwn(RANKS, input)
}

/** True if the input is a level or `DEFAULT`. */
export function isRedaction(input: unknown): input is Redaction {
  return input === 'DEFAULT' || isRedactionLevel(input)
}

/** The result at REDACTED, for every column type. Source: specification, "Redaction". */
export const REDACTED_TEXT = '*REDACTED*'

/** Returns the text at a level. MASKED without a mask gives the same as REDACTED. */
export function redact(level: RedactionLevel, text: string, mask?: ((text: string) => string) | undefined): string {
  switch (level) {
    case 'PLAIN_TEXT':
      return text
    case 'MASKED':
      return mask === undefined ? REDACTED_TEXT : mask(text)
    case 'REDACTED':
      return REDACTED_TEXT
    default:
      return unreachable(level)
  }
}
