/** What a text shows at the level MASKED: the masks as plain JSON, what each reveals, and how each becomes a function. */
import { unreachable } from '../util/unreachable.ts'
import { compileReplacement, MaskFault } from './replacement.ts'

/** A mask as it stands in a schema. */
export type MaskDefinition =
  | { readonly preset: 'keepFirst' | 'keepLast'; readonly count: number }
  | { readonly preset: 'email' | 'ssn' | 'card' }
  | { readonly find: string; readonly replace: string }

/**
 * Builders of masks. Every one answers plain JSON.
 * `keepFirst(n)`, `keepLast(n)` keep n characters (code points) and put `*` for each other one: `Ada` -> `A**`.
 * `email` keeps the first character and the domain: `ada@acme.example` -> `a***@acme.example`.
 * `ssn` keeps the last four of nine digits: `123-45-6789` -> `***-**-6789`.
 * `card` keeps the last four of 12 to 19 digits: `4111 1111 1111 1111` -> `************1111`.
 * `replace({ find, replace })` puts `replace` in the place of whatever the RE2 pattern `find` matches; `$1` and `${1}` stand for groups.
 */
export const mask = {
  keepFirst: (count: number): { readonly preset: 'keepFirst'; readonly count: number } => ({ preset: 'keepFirst', count }),
  keepLast: (count: number): { readonly preset: 'keepLast'; readonly count: number } => ({ preset: 'keepLast', count }),
  email: { preset: 'email' },
  ssn: { preset: 'ssn' },
  card: { preset: 'card' },
  replace: ({
    find,
    replace,
  }: {
    readonly find: string
    readonly replace: string
  }): { readonly find: string; readonly replace: string } => ({
    find,
    replace,
  }),
} as const

/** What each mask tells of a text, and so all that it tells: two texts alike in this are shown alike. */
export const MASK_REVEALS = {
  keepFirst: 'how many characters there are, and the first of them where there are more than it keeps',
  keepLast: 'how many characters there are, and the last of them where there are more than it keeps',
  email:
    'whether it reads as an email address; if so its domain, and the first character where more than one stands before the @',
  ssn: 'whether it is nine digits; if so the last four',
  card: 'whether it is 12 to 19 digits; if so the last four',
  replace: 'whether the pattern matches; if so what it does not match, and the groups that the replacement names',
} as const

/** The longest run of characters a mask may be told to keep. */
const MOST_KEPT = 1000

/** The mask as a function of a shown text. Throws `MaskFault` for a definition that cannot work. */
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
    default:
      return unreachable(preset)
  }
}

function checkedCount(count: number): number {
  if (!Number.isInteger(count) || count < 1 || count > MOST_KEPT) throw new MaskFault(`a mask keeps 1 to ${MOST_KEPT} characters`)
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

/** One star for each code point. */
function stars(hidden: string): string {
  return '*'.repeat(/[\ud800-\udfff]/.test(hidden) ? [...hidden].length : hidden.length)
}

/** Stands for a local part of any length. */
const HIDDEN_LOCAL = '***'

/** What may be shown as a domain: names with dots between; anything else after an @ could be a secret. */
const DOMAIN =
  /^[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]*[\p{L}\p{N}\p{M}])?(?:\.[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]*[\p{L}\p{N}\p{M}])?)*$/u

/** Longest domain name. Source: RFC 1035. */
const LONGEST_DOMAIN = 253

function maskEmail(text: string): string {
  const at = text.lastIndexOf('@')
  const domain = text.slice(at + 1)
  if (at < 1 || domain.length > LONGEST_DOMAIN || !DOMAIN.test(domain)) return HIDDEN_LOCAL
  const first = String.fromCodePoint(text.codePointAt(0) ?? 0)
  return `${first.length < at ? first : ''}${HIDDEN_LOCAL}@${domain}`
}

function maskSsn(text: string): string {
  const digits = digitsOf(text)
  return `***-**-${digits?.length === 9 ? digits.slice(-4) : '****'}`
}

function maskCard(text: string): string {
  const digits = digitsOf(text)
  const whole = digits !== undefined && digits.length >= 12 && digits.length <= 19
  return `************${whole ? digits.slice(-4) : '****'}`
}

/** The digits of a number written with spaces or hyphens; undefined where anything else stands among them. */
function digitsOf(text: string): string | undefined {
  return text.length <= 40 && /^[0-9 -]*$/.test(text) ? text.replaceAll(/[ -]/g, '') : undefined
}
