/** The plaintext header of every sealed body: a format byte and the version of the root key. */
import { required } from '../util/at.ts'

/** Length of the header in bytes. */
export const HEADER_BYTES = 3
/** The only body format: cells as in cell-layout.ts, sealed with XAES-256-GCM. */
export const BODY_FORMAT = 1

/** Returns the header of bodies sealed under a root key version from 1 to 65535. */
export function writeHeader(version: number): Uint8Array {
  return Uint8Array.of(BODY_FORMAT, version >>> 8, version & 0xff)
}

/** Returns the root key version of a body, or 0, which no key has, if the header has another format. */
export function readVersion(bytes: Uint8Array, start: number, end: number): number {
  if (end - start < HEADER_BYTES || bytes[start] !== BODY_FORMAT) return 0
  return (required(bytes[start + 1]) << 8) | required(bytes[start + 2])
}
