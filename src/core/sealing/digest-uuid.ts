/** Digests as they are stored: 122 bits of them, laid out as a version 8 UUID, so that a deterministic token and its digest are one. */

/** Sets the version and variant bits of a 16-byte digest in place, and answers it. */
export function toDigestUuid(digest: Uint8Array): Uint8Array {
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x80
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80
  return digest
}
