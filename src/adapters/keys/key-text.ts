/** Parses and renders a key of 32 bytes in base64, without a string or a buffer of the shared pool in between. */
import { secretBytes, wipe } from './secret-bytes.ts'

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
export interface KeyCodes {
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
