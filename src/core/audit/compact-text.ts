/** Texts and numbers in few bytes, each in one form only: ids as the bytes that their digits stand for, other text as UTF-8. */
import { type ByteWriter, fromUnits, isWellFormed, readUtf8, sameBytes, toHex, toUtf8 } from '../util/bytes.ts'

/*
 * A text begins with a number: what follows.
 * - UUID: a UUID in lower case, as 16 bytes. HEX_16 and HEX_32: 32 or 64 lower-case hex digits, as 16 or 32 bytes.
 * - UNITS: text with lone surrogates, which UTF-8 cannot hold: the number of its units, and each as 2 bytes.
 * - From UTF_8 on: so many bytes of UTF-8 as it is above UTF_8.
 */
const UUID = 0
const HEX_16 = 1
const HEX_32 = 2
const UNITS = 3
const UTF_8 = 4

const UUID_UNITS = 36
const DASH = 0x2d
/** Where a UUID has dashes. */
const DASHES = [8, 13, 18, 23]
/** Where the digits of each byte are, for each kind of id. */
const DIGITS = [
  [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34],
  Array.from({ length: 16 }, (_, byte) => 2 * byte),
  Array.from({ length: 32 }, (_, byte) => 2 * byte),
] as const
/** Values of hex digits in lower case; -1 for other units. */
const HEX_VALUES = Int8Array.from({ length: 0x80 }, (_, unit) => '0123456789abcdef'.indexOf(String.fromCharCode(unit)))
const HEX = /^[0-9a-f]*$/
const UUID_TEXT = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** Numbers up to which bit operators work on all bits. */
const MAX_SMALL = 0x7fff_ffff
const QUOTE = 0x22
const BACKSLASH = 0x5c
/** Lengths of texts that can be written as ids. */
const SHORTENED = [32, UUID_UNITS, 64]
/** A number whose next group would begin at this bit or later is too high. */
const MAX_SCALE = 2 ** 49

/** Writes an integer from 0 to 2^53 - 1 in groups of seven bits, lowest first. */
export function writeNumber(out: ByteWriter, value: number): void {
  let rest = value
  for (; rest > MAX_SMALL; rest = Math.floor(rest / 0x80)) out.u8(0x80 | (rest % 0x80))
  out.varint(rest)
}

/** Writes any text. */
export function writeText(out: ByteWriter, text: string): void {
  const { length } = text
  if (length === UUID_UNITS && hasDashes(text) && writeDigits(out, text, UUID)) return
  if (length === 32 && writeDigits(out, text, HEX_16)) return
  if (length === 64 && writeDigits(out, text, HEX_32)) return
  if (writeAscii(out, text)) return
  if (isWellFormed(text)) {
    const bytes = toUtf8(text)
    out.varint(UTF_8 + bytes.length)
    out.raw(bytes)
    return
  }
  out.varint(UNITS)
  out.varint(length)
  for (let i = 0; i < length; i++) writeU16(out, text.charCodeAt(i))
}

/** Writes the low 16 bits, big-endian. */
export function writeU16(out: ByteWriter, value: number): void {
  out.u8(value >>> 8)
  out.u8(value & 0xff)
}

/** Writes a text in ASCII. Returns false, and writes nothing, if it is not. */
function writeAscii(out: ByteWriter, text: string): boolean {
  const { length: start } = out
  out.varint(UTF_8 + text.length)
  out.reserve(text.length)
  const { bytes, length } = out
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit > 0x7f) {
      out.length = start
      return false
    }
    bytes[length + i] = unit
  }
  out.length = length + text.length
  return true
}

function hasDashes(text: string): boolean {
  for (const dash of DASHES) if (text.charCodeAt(dash) !== DASH) return false
  return true
}

/** Writes the kind of an id and the bytes of its lower-case hex digits. Returns false, and writes nothing, if other units are where they must be. */
function writeDigits(out: ByteWriter, text: string, kind: typeof UUID | typeof HEX_16 | typeof HEX_32): boolean {
  const digits = DIGITS[kind]
  out.reserve(1 + digits.length)
  const { bytes, length } = out
  bytes[length] = kind
  let faults = 0
  for (let i = 0; i < digits.length; i++) {
    const value = hexByte(text, digits[i] ?? 0) // Exists: i < length.
    faults |= value
    bytes[length + 1 + i] = value
  }
  if (faults < 0) return false
  out.length = length + 1 + digits.length
  return true
}

/** Returns the value of two lower-case hex digits; a negative number for other units. No branch: random digits would mislead its prediction. */
function hexByte(text: string, at: number): number {
  const high = text.charCodeAt(at)
  const low = text.charCodeAt(at + 1)
  const value = ((HEX_VALUES[high & 0x7f] ?? -1) << 4) | (HEX_VALUES[low & 0x7f] ?? -1)
  return value | -((high | low) >> 7)
}

/** Thrown inside of reading for bytes that no event is written as. */
export const DAMAGED = new Error('the bytes are not those of an event')

/** Reads what is above. Throws DAMAGED at the first byte that would not be written again. */
export class CompactReader {
  readonly bytes: Uint8Array
  /** Offset of the next byte. */
  at = 0

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  /** Passes over `count` bytes, which must exist. Returns the offset of the first. */
  skip(count: number): number {
    const start = this.at
    if (count > this.bytes.length - start) throw DAMAGED
    this.at = start + count
    return start
  }

  /** Reads one byte. */
  u8(): number {
    const byte = this.bytes[this.at++]
    if (byte === undefined) throw DAMAGED
    return byte
  }

  /** Reads 16 bits. */
  u16(): number {
    return (this.u8() << 8) | this.u8()
  }

  /** Returns flags that are all known. */
  flags(flags: number, known: number): number {
    if ((flags & ~known) !== 0) throw DAMAGED
    return flags
  }

  /** Reads one of a list by its index. */
  oneOf<T>(list: readonly T[]): T {
    const item = list[this.u8()]
    if (item === undefined) throw DAMAGED
    return item
  }

  /** Reads an integer from `min` to `max`. */
  number(min: number, max: number): number {
    let value = 0
    let scale = 1
    for (;;) {
      const byte = this.u8()
      value += (byte & 0x7f) * scale
      if (byte < 0x80) {
        // A last group of zero bits would be a longer form of the same number.
        if ((byte === 0 && scale > 1) || value < min || value > max) throw DAMAGED
        return value
      }
      scale *= 0x80
      if (scale > MAX_SCALE) throw DAMAGED
    }
  }

  /** Reads the number of items that follow, each of which has at least `size` bytes. */
  count(size: number): number {
    return this.number(0, Math.floor((this.bytes.length - this.at) / size))
  }

  /** Passes over a text. */
  skipText(): void {
    const kind = this.number(0, Number.MAX_SAFE_INTEGER)
    this.skip(kind <= HEX_32 ? lengthOf(kind) : kind === UNITS ? 2 * this.count(2) : kind - UTF_8)
  }

  /** Reads a text. */
  text(): string {
    const kind = this.number(0, Number.MAX_SAFE_INTEGER)
    switch (kind) {
      case UUID:
        return toUuid(this.hex(16))
      case HEX_16:
        return this.hex(16)
      case HEX_32:
        return this.hex(32)
      case UNITS:
        return this.#units()
      default:
        return this.#utf8(kind - UTF_8)
    }
  }

  /** Reads a text and writes it as a JSON string. */
  json(out: ByteWriter): void {
    const start = this.at
    const kind = this.number(0, Number.MAX_SAFE_INTEGER)
    if (kind <= HEX_32) copyDigits(out, this.bytes, this.skip(lengthOf(kind)), kind)
    else if (kind < UTF_8 || !this.#copyPlain(out, kind - UTF_8)) {
      this.at = start
      out.json(this.text())
    }
  }

  /** Reads bytes, as a view. */
  raw(count: number): Uint8Array {
    const start = this.skip(count)
    return this.bytes.subarray(start, this.at)
  }

  /** Reads bytes as lower-case hex digits. */
  hex(count: number): string {
    return toHex(this.raw(count))
  }

  /** Copies printed ASCII, with quotes and backslashes escaped. Returns false, and copies nothing, for other text. */
  #copyPlain(out: ByteWriter, length: number): boolean {
    if (SHORTENED.includes(length)) return false
    const start = this.skip(length)
    out.reserve(2 * length + 2)
    const { bytes } = out
    let to = out.length
    bytes[to++] = QUOTE
    for (let i = start; i < this.at; i++) {
      const unit = this.bytes[i] ?? 0 // Exists: i < at.
      if (unit < 0x20 || unit > 0x7f) return false
      if (unit === QUOTE || unit === BACKSLASH) bytes[to++] = BACKSLASH
      bytes[to++] = unit
    }
    bytes[to++] = QUOTE
    out.length = to
    return true
  }

  #utf8(length: number): string {
    const start = this.skip(length)
    const text = readUtf8(this.bytes, start, this.at)
    const isPlain = text.length === length && isAsciiRange(this.bytes, start, this.at)
    if (!isPlain && !sameBytes(toUtf8(text), this.bytes.subarray(start, this.at))) throw DAMAGED
    if (hasShorterForm(text)) throw DAMAGED
    return text
  }

  #units(): string {
    const count = this.count(2)
    const units: number[] = new Array(count)
    for (let i = 0; i < count; i++) units[i] = this.u16()
    const text = fromUnits(units)
    if (isWellFormed(text)) throw DAMAGED
    return text
  }
}

/** Returns the length in bytes of a kind of id. */
function lengthOf(kind: number): number {
  return DIGITS[kind]?.length ?? 0
}

/** Returns the UUID of 32 digits. */
function toUuid(digits: string): string {
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-${digits.slice(12, 16)}-${digits.slice(16, 20)}-${digits.slice(20)}`
}

/** Writes the digits of a UUID or of other bytes as a JSON string. */
function copyDigits(out: ByteWriter, bytes: Uint8Array, start: number, kind: number): void {
  const end = start + lengthOf(kind)
  out.u8(QUOTE)
  if (kind !== UUID) out.hex(bytes, start, end)
  else {
    out.hex(bytes, start, start + 4)
    for (let group = start + 4; group < start + 10; group += 2) {
      out.u8(DASH)
      out.hex(bytes, group, group + 2)
    }
    out.u8(DASH)
    out.hex(bytes, start + 10, end)
  }
  out.u8(QUOTE)
}

/** True for text that is written as the bytes of its digits. */
function hasShorterForm(text: string): boolean {
  switch (text.length) {
    case 32:
    case 64:
      return HEX.test(text)
    case UUID_UNITS:
      return UUID_TEXT.test(text)
    default:
      return false
  }
}

function isAsciiRange(bytes: Uint8Array, start: number, end: number): boolean {
  let bits = 0
  for (let i = start; i < end; i++) bits |= bytes[i] ?? 0 // Exists: i < end.
  return bits < 0x80
}
