/** The preset `email`: a local part that tells nothing, or is exchanged within its classes; the domain stays or gives way. */
import { TokenFault, type TokenFormat } from '../token-format.ts'
import { classOf, DIGITS, deterministicLayout, type Layout, LOWER, slotLayout } from './layout-format.ts'
import { apartFrom, type Slot, slotSpace } from './text-space.ts'

/** Options of an email format. */
export interface EmailOptions {
  /** Whether the domain stays in clear. Default true; false puts example.com, to which no mail goes. */
  readonly keepDomain?: boolean | undefined
}

/** Reserved for documents and owned by nobody. Source: RFC 2606, section 3. */
const RESERVED_DOMAIN = 'example.com'
/** Longest local part. Source: RFC 5321, section 4.5.3.1. */
const LONGEST_LOCAL = 64
/** Longest domain that leaves room for a token's local part within a token's 256 characters. */
const LONGEST_DOMAIN = 190
/** A local part without quotation marks. Source: RFC 5322, section 3.2.3. */
const LOCAL = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+$/
const LABEL = /^[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]*[\p{L}\p{N}\p{M}])?$/u

/** Every random token has a local part of this length, so that it tells nothing of the value's own. */
const RANDOM_LOCAL: readonly Slot[] = [LOWER, ...new Array<Slot>(11).fill(LOWER + DIGITS)]
const RANDOM_POSSIBILITIES = slotSpace(RANDOM_LOCAL).domain

/** A format for mail addresses. A deterministic token keeps length and classes of the local part, and needs the kept domain. */
export function emailFormat({ keepDomain = true }: EmailOptions = {}): TokenFormat {
  return {
    capacity: RANDOM_POSSIBILITIES,
    shapeOf(value) {
      const { domain } = split(value)
      return apartFrom(slotSpace([...RANDOM_LOCAL, '@', ...(keepDomain ? domain : RESERVED_DOMAIN).split('')]), value)
    },
    ...(keepDomain ? { deterministic: deterministicLayout(readLayout) } : {}),
  }
}

function readLayout(text: string): Layout {
  const { local, domain } = split(text)
  const slots = [...Array.from(local, (character) => classOf(character) ?? character), '@', ...domain.split('')]
  return slotLayout(
    slots,
    'must have at least 5 letters or 6 digits, or as many of both, before the @ to have a token of this kind',
  )
}

function split(text: string): { readonly local: string; readonly domain: string } {
  const at = text.lastIndexOf('@')
  const local = text.slice(0, Math.max(at, 0))
  const domain = text.slice(at + 1)
  const isAddress =
    local.length <= LONGEST_LOCAL && LOCAL.test(local) && domain.length <= LONGEST_DOMAIN && domain.split('.').every(isLabel)
  if (!isAddress)
    throw new TokenFault(
      `must be an email address with at most ${LONGEST_DOMAIN} characters behind the @ to have a token of this kind`,
    )
  return { local, domain }
}

function isLabel(label: string): boolean {
  return LABEL.test(label)
}
