/** Lays out digests as version 8 UUIDs (RFC 9562, section 5.8), so that a stored digest equals its deterministic token. */
import { at } from '../util/lists.ts'

/** Sets the version and variant bits of a 16-byte digest in place and returns it. 122 bits of the digest are kept. */
export function toDigestUuid(digest: Uint8Array): Uint8Array {
  digest[6] = (at(digest, 6) & 0x0f) | 0x80
  digest[8] = (at(digest, 8) & 0x3f) | 0x80
  return digest
}
