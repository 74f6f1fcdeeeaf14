/** Parses a key of 32 bytes from base64. */

/** 32 bytes in base64 are 43 characters and one padding character. */
const KEY_TEXT = /^[A-Za-z0-9+/]{43}=$/

/** Returns the key; undefined if the text is not 32 bytes in base64. Spaces around it are ignored. */
export function parseKeyText(text: string): Uint8Array | undefined {
  const trimmed = text.trim()
  if (!KEY_TEXT.test(trimmed)) return undefined
  const key = Buffer.from(trimmed, 'base64')
  // The last character has two bits beyond the key: only one spelling is valid.
  return key.toString('base64') === trimmed ? Uint8Array.from(key) : undefined
}
