/** What stands in clear before every sealed body: a format byte and the version of the root key. */

/** Bytes of the header. */
export const HEADER_BYTES = 3
/** The one body format so far: cells as in cell-layout.ts, sealed with XAES-256-GCM. */
export const FORMAT = 1

/** The header of bodies sealed under this root key version. */
export function writeHeader(version: number): Uint8Array {
  return Uint8Array.of(FORMAT, version >>> 8, version & 0xff)
}

/** The root key version a body names, or 0 (which no key has) when its header is not of a format we know. */
export function readVersion(bytes: Uint8Array, start: number, end: number): number {
  if (end - start < HEADER_BYTES || bytes[start] !== FORMAT) return 0
  return ((bytes[start + 1] ?? 0) << 8) | (bytes[start + 2] ?? 0)
}
