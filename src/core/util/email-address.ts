/** Email addresses and their parts. Sources: RFC 5321, section 4.1.2, and RFC 6531, section 3.3. */

/** The parts of an address, as they are written. */
export interface EmailAddress {
  readonly local: string
  readonly domain: string
}

/** Maximum length of an address in UTF-16 units: 64 before the @ and 255 behind it. Source: RFC 5321, section 4.5.3.1. */
const MAX_LENGTH = 320
/** Maximum length of a label of a domain in ASCII. Source: RFC 1035, section 2.3.4. */
const MAX_LABEL_LENGTH = 63
/** A local part without quotation marks: ASCII signs of RFC 5322, section 3.2.3, dots anywhere, and what is visible beyond ASCII. */
const UNQUOTED = /^(?:[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]|[^\p{ASCII}\p{C}\p{Z}])+$/u
const QUOTED = /^"(?:[^\p{Cc}\p{Cs}"\\]|\\[ -~])*"$/u
/** Beyond letters and digits: marks, joiners and dots that some scripts need, and emoji. */
const LABEL =
  /^[\p{L}\p{N}\p{So}](?:[\p{L}\p{N}\p{So}\p{M}\u00b7\u0375\u05f3\u05f4\u30fb\p{Join_Control}-]*[\p{L}\p{N}\p{So}\p{M}\u05f3\u05f4])?$/u
/** An address in place of a domain, such as [192.0.2.1] or [IPv6:2001:db8::1]. */
const LITERAL = /^\[[!-Z^-~]+\]$/

/** Returns the parts of an address; undefined for other text. A domain can be in Unicode or in ASCII, and can be an address literal. */
export function splitEmail(text: string): EmailAddress | undefined {
  const at = text.lastIndexOf('@')
  const local = text.slice(0, Math.max(at, 0))
  const domain = text.slice(at + 1)
  if (text.length > MAX_LENGTH) return undefined
  const isLocal = UNQUOTED.test(local) || QUOTED.test(local)
  return isLocal && (LITERAL.test(domain) || domain.split('.').every(isLabel)) ? { local, domain } : undefined
}

/** True for a label of a domain, in Unicode or in ASCII. */
export function isLabel(label: string): boolean {
  return label.length <= MAX_LABEL_LENGTH && LABEL.test(label)
}
