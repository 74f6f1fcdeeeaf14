/** Converts bytes from and to text: digests as hex digits, signatures as base64, bearers and tickets as base64url. Source: RFC 4648, sections 4 and 5. */
import { at } from './at.ts'

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
