/** The plaintext header of everything sealed: its format, and the version of the root key. */
import { SHORT_FORM } from '../ports/crypto.ts'
import { required } from '../util/lists.ts'

/** Length of a long header in bytes: the format, and the version in two bytes. */
export const HEADER_BYTES = 3
/** The format with a long header and a whole nonce. Entries have it, and bodies whose version is above SHORT_VERSIONS. */
export const LONG_FORMAT = 1
/** The format of new bodies: the header is one byte, and of the nonce only the random bytes are stored. 2 begins the associated data of pieces of files. */
export const SHORT_FORMAT = 3
/** The highest root key version that fits into a short header. */
export const SHORT_VERSIONS = 0x7f

/** Returns the long header of what is sealed under a root key version from 1 to 65535. */
export function writeHeader(version: number): Uint8Array {
  return Uint8Array.of(LONG_FORMAT, version >>> 8, version & 0xff)
}

/** Returns the header of new bodies: the short one if the version fits into it. */
export function writeBodyHeader(version: number): Uint8Array {
  return version <= SHORT_VERSIONS ? Uint8Array.of(SHORT_FORM | version) : writeHeader(version)
}

/** Returns the root key version of a body, or 0, which no key has, if the header has another format. */
export function readVersion(bytes: Uint8Array, start: number, end: number): number {
  if (start >= end) return 0
  const first = required(bytes[start])
  if (first >= SHORT_FORM) return first - SHORT_FORM
  if (end - start < HEADER_BYTES || first !== LONG_FORMAT) return 0
  return (required(bytes[start + 1]) << 8) | required(bytes[start + 2])
}

/** Returns the format of a body with at least one byte, by its header. */
export function formatOf(firstByte: number): number {
  return firstByte >= SHORT_FORM ? SHORT_FORMAT : LONG_FORMAT
}
