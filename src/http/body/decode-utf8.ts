/** Decodes UTF-8, strictly. */

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Returns the text; undefined if the bytes are not valid UTF-8. A byte order mark stays part of the text. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return UTF8.decode(bytes)
  } catch {
    return undefined
  }
}
