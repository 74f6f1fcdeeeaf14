/** The preset `email`: the local part is random, or its characters are replaced within their classes. The domain is kept or replaced. */
import { type TokenFormat, TokenFormatError } from '../token-format.ts'
import { classOf, DIGITS, deterministicTemplate, LOWER, slotTemplate, type TextTemplate } from './template-format.ts'
import { excluding, type Slot, slotDomain } from './token-domain.ts'

/** Options of an email format. */
export interface EmailOptions {
  /** Whether a token keeps the domain. Default true; false replaces it by example.com, which receives no mail. */
  readonly keepDomain?: boolean | undefined
}

/** Reserved for documentation. Source: RFC 2606, section 3. */
const RESERVED_DOMAIN = 'example.com'
/** Maximum length of a local part, in UTF-16 units. Source: RFC 5321, section 4.5.3.1. */
const MAX_LOCAL_LENGTH = 64
/** Maximum length of a domain, in UTF-16 units. Leaves room for the local part within the 256 characters of a token. */
const MAX_DOMAIN_LENGTH = 190
/** A local part that needs no quotation marks. Source: RFC 5322, section 3.2.3. */
const LOCAL = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+$/
const LABEL = /^[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]*[\p{L}\p{N}\p{M}])?$/u

/** Local part of every random token. Its length is fixed, so that it reveals nothing about the local part of the value. */
const RANDOM_LOCAL: readonly Slot[] = [LOWER, ...new Array<Slot>(11).fill(LOWER + DIGITS)]
const RANDOM_POSSIBILITIES = slotDomain(RANDOM_LOCAL).size

/** Returns a format for email addresses. A deterministic token keeps the length and the character classes of the local part, and requires `keepDomain`. */
export function emailFormat({ keepDomain = true }: EmailOptions = {}): TokenFormat {
  return {
    capacity: RANDOM_POSSIBILITIES,
    rangeOf(value) {
      const { domain } = split(value)
      return excluding(slotDomain([...RANDOM_LOCAL, '@', ...(keepDomain ? domain : RESERVED_DOMAIN).split('')]), value)
    },
    ...(keepDomain ? { deterministic: deterministicTemplate(readTemplate) } : {}),
  }
}

function readTemplate(text: string): TextTemplate {
  const { local, domain } = split(text)
  const slots = [...Array.from(local, (character) => classOf(character) ?? character), '@', ...domain.split('')]
  return slotTemplate(
    slots,
    'must have at least 5 letters or 6 digits, or as many of both, before the @ to have a token of this kind',
  )
}

function split(text: string): { readonly local: string; readonly domain: string } {
  const at = text.lastIndexOf('@')
  const local = text.slice(0, Math.max(at, 0))
  const domain = text.slice(at + 1)
  const isAddress =
    local.length <= MAX_LOCAL_LENGTH &&
    LOCAL.test(local) &&
    domain.length <= MAX_DOMAIN_LENGTH &&
    domain.split('.').every(isLabel)
  if (!isAddress)
    throw new TokenFormatError(
      `must be an email address with at most ${MAX_DOMAIN_LENGTH} characters after the @ to have a token of this kind`,
    )
  return { local, domain }
}

function isLabel(label: string): boolean {
  return LABEL.test(label)
}
