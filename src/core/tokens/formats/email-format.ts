/** The preset `email`: the local part is random, or its characters are replaced within their classes. The domain is kept or replaced. */
import { toUtf8 } from '../../util/bytes.ts'
import { type EmailAddress, splitEmail } from '../../util/text.ts'
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
/** Maximum length of a local part in UTF-8. Source: RFC 5321, section 4.5.3.1. */
const MAX_LOCAL_BYTES = 64
/** Maximum length of a domain, in UTF-16 units. Leaves room for a random local part within the 256 characters of a token. */
const MAX_DOMAIN_LENGTH = 243
/** A local part whose characters can be replaced within their classes: others would stay in clear. */
const REPLACEABLE = /^[!-~]+$/

/** A local part as `REPLACEABLE` has it, but for what encloses an address in prose, and a domain. */
const PATTERN = '[A-Za-z0-9.!#$%&\'*+\\/=?^_\\x60\\{\\|\\}~\\-]{1,64}@[^\\s@<>"(),;:]*[^\\s@<>"(),;:.!?]'

/** Local part of every random token. Its length is fixed, so that it reveals nothing about the local part of the value. */
const RANDOM_LOCAL: readonly Slot[] = [LOWER, ...new Array<Slot>(11).fill(LOWER + DIGITS)]
const RANDOM_POSSIBILITIES = slotDomain(RANDOM_LOCAL).size

/** Returns a format for email addresses. A deterministic token keeps the length and the character classes of the local part, and requires `keepDomain`. */
export function emailFormat({ keepDomain = true }: EmailOptions = {}): TokenFormat {
  return {
    pattern: PATTERN,
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
  if (!REPLACEABLE.test(local) || local.startsWith('"'))
    throw new TokenFormatError(
      'must have letters A to Z, digits and signs without quotation marks before the @ to have a token of this kind',
    )
  const slots = [...Array.from(local, (character) => classOf(character) ?? character), '@', ...domain.split('')]
  return slotTemplate(
    slots,
    'must have at least 5 letters or 6 digits, or as many of both, before the @ to have a token of this kind',
  )
}

function split(text: string): EmailAddress {
  const address = splitEmail(text)
  const isFitting =
    address !== undefined && toUtf8(address.local).length <= MAX_LOCAL_BYTES && address.domain.length <= MAX_DOMAIN_LENGTH
  if (!isFitting)
    throw new TokenFormatError(
      `must be an email address with at most ${MAX_LOCAL_BYTES} bytes before the @ and ${MAX_DOMAIN_LENGTH} characters after it to have a token of this kind`,
    )
  return address
}
