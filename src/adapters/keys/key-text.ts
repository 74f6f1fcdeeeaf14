/** A 32-byte key written as text. */

/** 32 bytes in base64 have 43 characters and one sign of padding. */
const KEY_TEXT = /^[A-Za-z0-9+/]{43}=$/

/** The key, or undefined when the text, but for white space around it, is anything else. */
export function parseKeyText(text: string): Uint8Array | undefined {
  const trimmed = text.trim()
  if (!KEY_TEXT.test(trimmed)) return undefined
  const key = Buffer.from(trimmed, 'base64')
  // The last character carries two bits beyond the key: only one spelling is right.
  return key.toString('base64') === trimmed ? Uint8Array.from(key) : undefined
}
