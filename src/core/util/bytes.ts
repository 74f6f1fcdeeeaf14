/** A growing byte buffer, and functions that read numbers and UTF-8 from bytes. */
import { VaultError } from '../errors.ts'
import { readShortAscii, SHORT_ASCII_BYTES } from './text.ts'

/** Returns zeros of this length that no other call gets. */
export type FewBytes = (length: number) => Uint8Array

/** The encoder of the Encoding standard, which every JavaScript runtime has as a global. */
declare const TextEncoder: new () => {
  encodeInto(text: string, target: Uint8Array): { readonly read: number; readonly written: number }
}
const ENCODER = new TextEncoder()

/** Length up to which units and bytes are written one by one: calling the encoder, or the function that copies, takes as long. */
const FEW_UNITS = 32

/**
 * Length up to which the engine keeps an array of bytes inside its heap. The first view of such an array moves it to memory of its own, which
 * costs several times as much as a copy.
 */
const HEAP_BYTES = 64

/** Units that JSON escapes: a quote, a backslash, and those before the first printed one. */
const QUOTE = 0x22
const BACKSLASH = 0x5c
const FIRST_PRINTED = 0x20

/** Numbers up to which digits are computed with 32-bit integers. */
const MAX_SMALL = 0x7fff_ffff

const allocateOwn: FewBytes = (length) => new Uint8Array(length)

/** Appends numbers, texts and byte strings to one buffer, which grows as needed. */
export class ByteWriter {
  /** The buffer. A new one replaces it when it grows. */
  bytes: Uint8Array
  /** Number of bytes written. */
  length = 0

  /** `allocate` returns the first buffer, of zeros. */
  constructor(capacity = 1024, allocate: FewBytes = allocateOwn) {
    this.bytes = allocate(capacity)
  }

  /** Makes room for `more` bytes after `length`. */
  reserve(more: number): void {
    const needed = this.length + more
    if (needed <= this.bytes.length) return
    const grown = new Uint8Array(Math.max(needed, this.bytes.length * 2))
    grown.set(this.bytes.subarray(0, this.length))
    this.bytes = grown
  }

  /** Writes one byte. */
  u8(value: number): void {
    this.reserve(1)
    this.bytes[this.length++] = value
  }

  /** Writes 32 bits, big-endian. */
  u32(value: number): void {
    this.reserve(4)
    const { bytes } = this
    bytes[this.length] = value >>> 24
    bytes[this.length + 1] = value >>> 16
    bytes[this.length + 2] = value >>> 8
    bytes[this.length + 3] = value
    this.length += 4
  }

  /** Writes a safe integer or a bigint as 64 bits, big-endian, two's complement. */
  i64(value: number | bigint): void {
    if (typeof value === 'number' && Number.isSafeInteger(value)) {
      this.u32(Math.floor(value / 0x1_0000_0000) >>> 0)
      this.u32(value >>> 0)
      return
    }
    const bits = BigInt.asUintN(64, BigInt(value))
    this.u32(Number(bits >> 32n))
    this.u32(Number(bits & 0xffff_ffffn))
  }

  /** Writes a number up to 2^31 - 1 in groups of seven bits, lowest first. The high bit of a byte says that more follow. */
  varint(value: number): void {
    this.reserve(5)
    let rest = value
    while (rest > 0x7f) {
      this.bytes[this.length++] = (rest & 0x7f) | 0x80
      rest >>>= 7
    }
    this.bytes[this.length++] = rest
  }

  /** Writes bytes unchanged. */
  raw(source: Uint8Array): void {
    const count = source.length
    this.reserve(count)
    const { bytes, length } = this
    if (count > FEW_UNITS) bytes.set(source, length)
    else for (let i = 0; i < count; i++) bytes[length + i] = source[i] ?? 0 // Exists: i < count.
    this.length += count
  }

  /** Writes well-formed text as UTF-8. Callers reject lone surrogates before; here they become U+FFFD. */
  utf8(text: string): void {
    this.reserve(text.length)
    const { bytes, length } = this
    if (text.length <= FEW_UNITS && writeAscii(bytes, length, text)) {
      this.length += text.length
      return
    }
    const { read, written } = ENCODER.encodeInto(text, bytes.subarray(length))
    this.length += written
    if (read === text.length) return
    this.reserve((text.length - read) * 3)
    this.length += ENCODER.encodeInto(text.slice(read), this.bytes.subarray(this.length)).written
  }

  /** Writes text as a JSON string, as `JSON.stringify` does. */
  json(text: string): void {
    this.reserve(2 * text.length + 2)
    const { bytes, length } = this
    let at = length
    bytes[at++] = QUOTE
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i)
      if (unit < FIRST_PRINTED || unit > 0x7f) {
        this.utf8(JSON.stringify(text))
        return
      }
      if (unit === QUOTE || unit === BACKSLASH) bytes[at++] = BACKSLASH
      bytes[at++] = unit
    }
    bytes[at++] = QUOTE
    this.length = at
  }

  /** Writes a number in decimal digits, as `JSON.stringify` does. */
  decimal(value: number): void {
    if (value > MAX_SMALL || value >>> 0 !== value) {
      this.utf8(JSON.stringify(value))
      return
    }
    let digits = 1
    for (let bound = 10; value >= bound; bound *= 10) digits++
    this.reserve(digits)
    this.length += digits
    const { bytes } = this
    let rest = value
    for (let at = this.length - 1; digits > 0; digits--) {
      const tens = (rest / 10) | 0
      bytes[at--] = 0x30 + rest - 10 * tens
      rest = tens
    }
  }

  /** Writes lower-case hex digits, two for each byte from `start` to `end`, which exist. */
  hex(source: Uint8Array, start = 0, end = source.length): void {
    this.reserve(2 * (end - start))
    this.length = writeHex(this.bytes, this.length, source, start, end)
  }

  /** Returns the bytes written so far: a copy of a few, else a view. */
  written(): Uint8Array {
    return this.bytes.length <= HEAP_BYTES ? this.bytes.slice(0, this.length) : this.bytes.subarray(0, this.length)
  }
}

/** Writes text at an offset. Returns false if it is not ASCII. */
function writeAscii(bytes: Uint8Array, at: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit > 0x7f) return false
    bytes[at + i] = unit
  }
  return true
}

/** Returns well-formed text as UTF-8, as `ByteWriter.utf8` writes it. */
export function toUtf8(text: string): Uint8Array {
  const out = new ByteWriter(text.length)
  out.utf8(text)
  return out.written()
}

/** The decoder of the Encoding standard, which every JavaScript runtime has as a global. */
declare const TextDecoder: new (label: 'utf-8', options: { readonly ignoreBOM: boolean }) => { decode(bytes: Uint8Array): string }
/** It keeps U+FEFF at the beginning of a text. */
const DECODER = new TextDecoder('utf-8', { ignoreBOM: true })

/** Bytes up to which an array of units is the faster way to text: calling the decoder takes as long as 32 bytes. */
const FEW_BYTES = 32

/** Returns the text of `bytes[start .. end)`, which `ByteWriter.utf8` wrote. Throws `internal` if `end` is beyond the bytes. */
export function readUtf8(bytes: Uint8Array, start: number, end: number): string {
  if (end > bytes.length) throw beyond(end, bytes)
  const short = end - start > SHORT_ASCII_BYTES ? undefined : readShortAscii(bytes, start, end - start)
  if (short !== undefined) return short
  const units = end - start > FEW_BYTES ? undefined : readShortUnits(bytes, start, end)
  return units === undefined ? DECODER.decode(bytes.subarray(start, end)) : String.fromCharCode(...units)
}

/** True if the bytes are this text. ASCII is compared without making the text of the bytes. */
export function isUtf8(bytes: Uint8Array, start: number, end: number, text: string): boolean {
  // A UTF-16 unit takes one byte to three.
  if (end - start < text.length || end - start > 3 * text.length) return false
  for (let i = 0; i < text.length; i++) {
    const byte = bytes[start + i] ?? 0 // Exists: there are as many bytes as units.
    if (byte > 0x7f) return readUtf8(bytes, start, end) === text
    if (byte !== text.charCodeAt(i)) return false
  }
  return end - start === text.length
}

/** Returns the UTF-16 units of text whose characters take one or two bytes; undefined for other bytes. `end` is inside the bytes. */
function readShortUnits(bytes: Uint8Array, start: number, end: number): number[] | undefined {
  const units: number[] = new Array(end - start)
  let count = 0
  for (let i = start; i < end; i++) {
    const unit = bytes[i] ?? 0 // Exists: i < end.
    if (unit < 0x80) {
      units[count++] = unit
      continue
    }
    const next = i + 1 < end ? (bytes[++i] ?? 0) : 0
    // A first byte of 0xc0 or 0xc1 would be a longer form of an ASCII character.
    if (unit < 0xc2 || unit > 0xdf || next >> 6 !== 2) return undefined
    units[count++] = ((unit & 0x1f) << 6) | (next & 0x3f)
  }
  if (count < units.length) units.length = count
  return units
}

/** Returns the big-endian, unsigned 16-bit number at an offset. Throws `internal` as `readU32`. */
export function readU16(bytes: Uint8Array, at: number): number {
  if (at < 0 || at + 2 > bytes.length) throw beyond(at + 2, bytes)
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
}

/** Returns the big-endian, unsigned 32-bit number at an offset. Throws `internal` if it is not inside the bytes. */
export function readU32(bytes: Uint8Array, at: number): number {
  if (at < 0 || at + 4 > bytes.length) throw beyond(at + 4, bytes)
  // All four bytes exist: this is checked above.
  return (((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)) >>> 0
}

/** Returns the big-endian, two's complement 64-bit number at an offset: a number if it is a safe integer, else a bigint. Throws `internal` as `readU32`. */
export function readI64(bytes: Uint8Array, at: number): number | bigint {
  const high = readU32(bytes, at) | 0
  const low = readU32(bytes, at + 4)
  const near = high * 0x1_0000_0000 + low
  return Number.isSafeInteger(near) ? near : (BigInt(high) << 32n) | BigInt(low)
}

/** True if both have the same bytes. Not for secrets: the time depends on the first difference. */
export function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false
  for (let i = 0; i < left.length; i++) if (left[i] !== right[i]) return false
  return true
}

/** Returns text that is equal for equal bytes only: the key of byte strings in a map. An array is spread faster than bytes are. */
export function keyOfBytes(bytes: Uint8Array): string {
  const units: number[] = new Array(bytes.length)
  for (let i = 0; i < bytes.length; i++) units[i] = bytes[i] ?? 0 // Exists: i < bytes.length.
  return fromUnits(units)
}

/** Maximum number of units for one `fromCharCode` call: below the argument limit of every JavaScript engine. */
const CHUNK = 4096

/** Returns the text of UTF-16 units. */
export function fromUnits(units: readonly number[]): string {
  if (units.length <= CHUNK) return String.fromCharCode(...units)
  let text = ''
  for (let start = 0; start < units.length; start += CHUNK) text += fromUnits(units.slice(start, start + CHUNK))
  return text
}

/** Returns lower-case hex digits, two for each byte. Made of units, because text that grows by pieces is copied again where it is used. */
export function toHex(bytes: Uint8Array): string {
  const units: number[] = new Array(2 * bytes.length)
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0 // Exists: i < length.
    units[2 * i] = hexDigit(byte >> 4)
    units[2 * i + 1] = hexDigit(byte & 0xf)
  }
  return fromUnits(units)
}

/**
 * Writes lower-case hex digits at an offset, two for each byte from `start` to `end`, which exist. Returns the offset after them, which must be
 * inside the target.
 */
export function writeHex(target: Uint8Array, offset: number, source: Uint8Array, start = 0, end = source.length): number {
  let at = offset
  for (let i = start; i < end; i++) {
    const byte = source[i] ?? 0 // Exists, as above.
    target[at++] = hexDigit(byte >> 4)
    target[at++] = hexDigit(byte & 0xf)
  }
  return at
}

/** The unit of a hex digit from 0 to 15: digits start at 0x30, and letters 0x27 after them. A processor cannot predict a branch on the digits of digests. */
function hexDigit(value: number): number {
  return 0x30 + value + (((9 - value) >> 31) & 0x27)
}

function beyond(end: number, { length }: Uint8Array): VaultError {
  return new VaultError('internal', `Byte ${end - 1} of ${length} was read. This is a defect; please report it.`)
}

/**
 * An object whose state changes has members, and no getters, if one is made for each call or slice. V8 makes a hidden class for each object
 * literal with getters. Hidden classes live until a collection of the old generation, and so does all that the getters reach.
 */
export type Writable<T> = { -readonly [Member in keyof T]: T[Member] }

/** With the u flag, a surrogate that is part of a pair does not match. */
const LONE_SURROGATE = /[\ud800-\udfff]/u

/** True if the text has no lone surrogates, so that it can be read back from its bytes. */
export function isWellFormed(text: string): boolean {
  return !LONE_SURROGATE.test(text)
}
