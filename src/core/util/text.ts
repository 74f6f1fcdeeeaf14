/** Text from bytes and back: short ASCII, hex digits, base64 and base64url (RFC 4648, sections 4 and 5), the parts of email addresses, and the form of IBANs. */
import { at } from './lists.ts'

/** Bytes up to which a text has a case below. */
export const SHORT_ASCII_BYTES = 24

/** All units that it is called with exist: `i` and the bytes after it are inside the bytes. */
const textOf = String.fromCharCode as (...units: readonly (number | undefined)[]) => string

/** Returns the text of `b[i .. i + length)`; undefined if it is not ASCII, or longer than SHORT_ASCII_BYTES. All of it is inside the bytes. */
export function readShortAscii(b: Uint8Array, i: number, length: number): string | undefined {
  let bits = 0
  for (let k = 0; k < length; k++) bits |= b[i + k] ?? 0 // Exists, as above.
  if (bits > 0x7f) return undefined
  // biome-ignore format: one case for each length.
  switch (length) {
    case 0: return ''
    case 1: return textOf(b[i])
    case 2: return textOf(b[i], b[i+1])
    case 3: return textOf(b[i], b[i+1], b[i+2])
    case 4: return textOf(b[i], b[i+1], b[i+2], b[i+3])
    case 5: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4])
    case 6: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5])
    case 7: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6])
    case 8: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7])
    case 9: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8])
    case 10: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9])
    case 11: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9], b[i+10])
    case 12: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9], b[i+10], b[i+11])
    case 13: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9], b[i+10], b[i+11], b[i+12])
    case 14: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9], b[i+10], b[i+11], b[i+12], b[i+13])
    case 15: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9], b[i+10], b[i+11], b[i+12], b[i+13], b[i+14])
    case 16: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9], b[i+10], b[i+11], b[i+12], b[i+13], b[i+14], b[i+15])
    case 17: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9], b[i+10], b[i+11],
      b[i+12], b[i+13], b[i+14], b[i+15], b[i+16])
    case 18: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9], b[i+10], b[i+11],
      b[i+12], b[i+13], b[i+14], b[i+15], b[i+16], b[i+17])
    case 19: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9], b[i+10], b[i+11],
      b[i+12], b[i+13], b[i+14], b[i+15], b[i+16], b[i+17], b[i+18])
    case 20: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9], b[i+10], b[i+11],
      b[i+12], b[i+13], b[i+14], b[i+15], b[i+16], b[i+17], b[i+18], b[i+19])
    case 21: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9], b[i+10], b[i+11],
      b[i+12], b[i+13], b[i+14], b[i+15], b[i+16], b[i+17], b[i+18], b[i+19], b[i+20])
    case 22: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9], b[i+10], b[i+11],
      b[i+12], b[i+13], b[i+14], b[i+15], b[i+16], b[i+17], b[i+18], b[i+19], b[i+20], b[i+21])
    case 23: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9], b[i+10], b[i+11],
      b[i+12], b[i+13], b[i+14], b[i+15], b[i+16], b[i+17], b[i+18], b[i+19], b[i+20], b[i+21], b[i+22])
    case 24: return textOf(b[i], b[i+1], b[i+2], b[i+3], b[i+4], b[i+5], b[i+6], b[i+7], b[i+8], b[i+9], b[i+10], b[i+11],
      b[i+12], b[i+13], b[i+14], b[i+15], b[i+16], b[i+17], b[i+18], b[i+19], b[i+20], b[i+21], b[i+22], b[i+23])
    default: return undefined
  }
}

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** Returns the bytes of lower-case hex digits, two for each byte. The caller has checked the text. */
export function fromHex(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length / 2)
  for (let i = 0; i < bytes.length; i++) bytes[i] = (nibble(text.charCodeAt(2 * i)) << 4) | nibble(text.charCodeAt(2 * i + 1))
  return bytes
}

/** Returns the value of a hex digit. Digits start at 0x30 and letters at 0x61: bit 6 of a letter adds 9. */
function nibble(code: number): number {
  return (code & 0xf) + 9 * (code >> 6)
}

/** Returns padded base64. */
export function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (let start = 0; start < bytes.length; start += 3) {
    // The last group can have one or two bytes: missing ones count as 0.
    const bits = (at(bytes, start) << 16) | ((bytes[start + 1] ?? 0) << 8) | (bytes[start + 2] ?? 0)
    const digits = Math.min(bytes.length - start, 3) + 1
    for (let i = 0; i < 4; i++) text += i < digits ? DIGITS[(bits >>> (18 - 6 * i)) & 0x3f] : '='
  }
  return text
}

/** Returns the bytes of text in the form that `toBase64` writes; undefined for other text. */
export function fromBase64(text: string): Uint8Array | undefined {
  const digits = text.replace(/={1,2}$/, '')
  const bytes = new Uint8Array(Math.floor((digits.length * 3) / 4))
  let bits = 0
  for (let i = 0; i < digits.length; i++) {
    bits = ((bits << 6) | DIGITS.indexOf(digits.charAt(i))) & 0xfff
    const index = Math.floor((i * 3 + 3) / 4) - 1
    if (i % 4 !== 0) bytes[index] = bits >>> (6 - 2 * (i % 4))
  }
  return toBase64(bytes) === text ? bytes : undefined
}

/** Returns base64url without padding. */
export function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

/** Returns the bytes of text in the form that `toBase64Url` writes; undefined for other text. */
export function fromBase64Url(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9_-]*$/.test(text)) return undefined
  const base64 = text.replaceAll('-', '+').replaceAll('_', '/')
  return fromBase64(base64 + '='.repeat((4 - (base64.length % 4)) % 4))
}

/** True if no byte is above 0x7f: each is one character. */
export function isAscii(bytes: Uint8Array): boolean {
  let bits = 0
  for (let i = 0; i < bytes.length; i++) bits |= bytes[i] ?? 0 // Exists: i < length.
  return bits < 0x80
}

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

/**
 * An international account number in any case, without spaces: a country, check digits, and the account of the country. Which are correct does not matter
 * here. Source: ISO 13616-1.
 */
export const IBAN = /^[A-Za-z]{2}[0-9]{2}[A-Za-z0-9]{11,30}$/

/** True for a label of a domain, in Unicode or in ASCII. */
export function isLabel(label: string): boolean {
  return label.length <= MAX_LABEL_LENGTH && LABEL.test(label)
}
