/** Keys as bytes: memory of their own that is wiped after use, the key of each use by HKDF-SHA-256, and keys as text in base64. */
import { hkdfSync } from 'node:crypto'
import { unreachable } from '../../core/util/causes.ts'

/**
 * Returns `length` zeros in memory of their own. `Buffer.from` and `Buffer.concat` would take a piece of the pool, which a `postMessage`
 * of any small buffer copies as a whole. A small typed array without a buffer of its own is moved by the garbage collector, which leaves
 * copies.
 */
export function secretBytes(length: number): Uint8Array {
  return new Uint8Array(new ArrayBuffer(length))
}

/** Returns a copy of key bytes. */
export function copySecret(bytes: Uint8Array): Uint8Array {
  const copy = secretBytes(bytes.length)
  copy.set(bytes)
  return copy
}

/** Overwrites key bytes with zeros. */
export function wipe(...secrets: readonly Uint8Array[]): void {
  for (const secret of secrets) secret.fill(0)
}

/** The use of a key. Each use has its own label. */
export type KeyUse =
  | { readonly kind: 'seal'; readonly version: number; readonly purpose: string }
  | { readonly kind: 'digest'; readonly scope: string }
  | { readonly kind: 'rank'; readonly scope: string }
  | { readonly kind: 'pointer' }

/** Returns the key of 32 bytes for one use. HKDF input: the root key; salt: the vault id; info: the label. Source: RFC 5869. */
export function deriveKey(root: Uint8Array, vaultId: string, use: KeyUse): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', root, vaultId, label(use), 32))
}

function label(use: KeyUse): string {
  // Free text comes last, so that no two uses have the same label.
  switch (use.kind) {
    case 'seal':
      return `strongroom/v1/seal/${use.version}/${use.purpose}`
    case 'digest':
      return `strongroom/v1/digest/${use.scope}`
    case 'rank':
      return `strongroom/v1/rank/${use.scope}`
    case 'pointer':
      return 'strongroom/v1/pointer'
    default:
      return unreachable(use)
  }
}

const KEY_BYTES = 32
/** Length of a key in base64: 43 digits and one padding character. */
export const KEY_TEXT_LENGTH = 44
const PADDING = 0x3d
/** First codes of the ranges of base64 digits, their number, and the value of the first digit. */
const RANGES = [
  [0x41, 26, 0],
  [0x61, 26, 26],
  [0x30, 10, 52],
  [0x2b, 1, 62],
  [0x2f, 1, 63],
] as const

/** Character codes, as a text or a file has them. */
interface KeyCodes {
  readonly length: number
  codeAt(index: number): number
}

/** Returns the key; undefined if the codes are not 32 bytes in base64. White space around it is ignored. The caller wipes the key. */
export function parseKey(codes: KeyCodes): Uint8Array | undefined {
  let start = 0
  let end = codes.length
  while (start < end && isSpace(codes.codeAt(start))) start++
  while (end > start && isSpace(codes.codeAt(end - 1))) end--
  if (end - start !== KEY_TEXT_LENGTH || codes.codeAt(end - 1) !== PADDING) return undefined
  const key = secretBytes(KEY_BYTES)
  let bits = 0
  let held = 0
  for (let i = 0, next = 0; i < KEY_TEXT_LENGTH - 1; i++) {
    const digit = digitOf(codes.codeAt(start + i))
    if (digit === undefined) {
      wipe(key)
      return undefined
    }
    bits = ((bits << 6) | digit) & 0xffff
    held += 6
    if (held >= 8) {
      held -= 8
      key[next++] = bits >> held
    }
  }
  // The last digit has two bits beyond the key: only one spelling is valid.
  if ((bits & 3) === 0) return key
  wipe(key)
  return undefined
}

/** Returns the codes of a text. */
export function textCodes(text: string): KeyCodes {
  return { length: text.length, codeAt: (index) => text.charCodeAt(index) }
}

/** Returns the codes of `bytes[start .. end)`. */
export function byteCodes(bytes: Uint8Array, start: number, end: number): KeyCodes {
  return { length: end - start, codeAt: (index) => bytes[start + index] ?? 0 }
}

/** Writes a key as KEY_TEXT_LENGTH characters of base64 to `out` at `offset`. */
export function writeKeyText(key: Uint8Array, out: Uint8Array, offset: number): void {
  let bits = 0
  let held = 0
  let next = offset
  for (const byte of key) {
    bits = ((bits << 8) | byte) & 0xffff
    held += 8
    for (; held >= 6; held -= 6) out[next++] = codeOf((bits >> (held - 6)) & 63)
  }
  if (held > 0) out[next++] = codeOf((bits << (6 - held)) & 63)
  out[next] = PADDING
}

/** True for a key that no random generator draws: its two halves are equal, as with zeros, one repeated byte or a doubled key of 16 bytes. */
export function isRepeated(key: Uint8Array): boolean {
  const half = key.length / 2
  return key.subarray(0, half).every((byte, i) => byte === key[half + i])
}

function digitOf(code: number): number | undefined {
  for (const [first, count, value] of RANGES) if (code >= first && code < first + count) return code - first + value
  return undefined
}

function codeOf(digit: number): number {
  for (const [first, count, value] of RANGES) if (digit >= value && digit < value + count) return digit - value + first
  return PADDING
}

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d)
}
