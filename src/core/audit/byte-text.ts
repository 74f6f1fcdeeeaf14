/** Short byte strings out of text and into it: hex digits of digests, base64 (RFC 4648, section 4) of signatures. */

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** The bytes of lower-case hex digits, two for each; the digits must be known to be such. */
export function fromHex(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length / 2)
  for (let i = 0; i < bytes.length; i++) bytes[i] = (nibble(text.charCodeAt(2 * i)) << 4) | nibble(text.charCodeAt(2 * i + 1))
  return bytes
}

/** Digits stand at 0x30, letters at 0x61: the letters' bit 6 adds the nine by which they come later. */
function nibble(code: number): number {
  return (code & 0xf) + 9 * (code >> 6)
}

/** Text of these bytes, padded. */
export function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += 3) {
    const bits = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0)
    const digits = Math.min(bytes.length - at, 3) + 1
    for (let i = 0; i < 4; i++) text += i < digits ? DIGITS[(bits >>> (18 - 6 * i)) & 0x3f] : '='
  }
  return text
}

/** The bytes of a text that `toBase64` would write, or undefined for any other. */
export function fromBase64(text: string): Uint8Array | undefined {
  const digits = text.replace(/={1,2}$/, '')
  const bytes = new Uint8Array(Math.floor((digits.length * 3) / 4))
  let bits = 0
  for (let i = 0; i < digits.length; i++) {
    bits = ((bits << 6) | DIGITS.indexOf(digits[i] ?? '')) & 0xfff
    const at = Math.floor((i * 3 + 3) / 4) - 1
    if (i % 4 !== 0) bytes[at] = bits >>> (6 - 2 * (i % 4))
  }
  return toBase64(bytes) === text ? bytes : undefined
}
