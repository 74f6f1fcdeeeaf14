/** A growing byte buffer, and UTF-8 both ways, without any runtime's own encoder. */

/** Appends numbers, texts and byte strings to one buffer that grows as needed. */
export class ByteWriter {
  bytes: Uint8Array
  length = 0

  constructor(capacity = 1024) {
    this.bytes = new Uint8Array(capacity)
  }

  /** Makes room for `more` bytes beyond `length`. */
  reserve(more: number): void {
    const needed = this.length + more
    if (needed <= this.bytes.length) return
    const grown = new Uint8Array(Math.max(needed, this.bytes.length * 2))
    grown.set(this.bytes.subarray(0, this.length))
    this.bytes = grown
  }

  u8(value: number): void {
    this.reserve(1)
    this.bytes[this.length++] = value
  }

  /** Big-endian, 32 bits. */
  u32(value: number): void {
    this.reserve(4)
    const { bytes } = this
    bytes[this.length] = value >>> 24
    bytes[this.length + 1] = value >>> 16
    bytes[this.length + 2] = value >>> 8
    bytes[this.length + 3] = value
    this.length += 4
  }

  /** Big-endian two's complement, 64 bits, of a safe integer or a bigint. */
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

  /** Little groups of seven bits first, the high bit saying that more follow; up to 2^31 - 1. */
  varint(value: number): void {
    this.reserve(5)
    let rest = value
    while (rest > 0x7f) {
      this.bytes[this.length++] = (rest & 0x7f) | 0x80
      rest >>>= 7
    }
    this.bytes[this.length++] = rest
  }

  raw(source: Uint8Array): void {
    this.reserve(source.length)
    this.bytes.set(source, this.length)
    this.length += source.length
  }

  /** UTF-8 of well-formed text. A lone surrogate must have been refused before; here it becomes U+FFFD. */
  utf8(text: string): void {
    this.reserve(text.length * 3)
    const { bytes } = this
    let at = this.length
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i)
      if (unit < 0x80) {
        bytes[at++] = unit
      } else {
        const point = text.codePointAt(i) ?? 0xfffd
        if (point > 0xffff) i++
        at = writeMultibyte(bytes, at, point >= 0xd800 && point <= 0xdfff ? 0xfffd : point)
      }
    }
    this.length = at
  }

  /** What was written so far, as a view. */
  written(): Uint8Array {
    return this.bytes.subarray(0, this.length)
  }
}

function writeMultibyte(bytes: Uint8Array, start: number, point: number): number {
  let at = start
  if (point < 0x800) {
    bytes[at++] = 0xc0 | (point >> 6)
  } else {
    if (point < 0x10000) {
      bytes[at++] = 0xe0 | (point >> 12)
    } else {
      bytes[at++] = 0xf0 | (point >> 18)
      bytes[at++] = 0x80 | ((point >> 12) & 0x3f)
    }
    bytes[at++] = 0x80 | ((point >> 6) & 0x3f)
  }
  bytes[at++] = 0x80 | (point & 0x3f)
  return at
}

/** Units handed to one `fromCharCode` call: below every engine's argument limit. */
const CHUNK = 4096

/** Text from bytes this module wrote. A plain array of units is what engines turn into text fastest; short ASCII is most of it. */
export function readUtf8(bytes: Uint8Array, start: number, end: number): string {
  const size = end - start
  if (size > CHUNK) return readChunks(bytes, start, end)
  const units: number[] = new Array(size)
  for (let i = 0; i < size; i++) {
    const unit = bytes[start + i] ?? 0
    if (unit > 0x7f) return readChunks(bytes, start, end)
    units[i] = unit
  }
  return String.fromCharCode(...units)
}

function readChunks(bytes: Uint8Array, start: number, end: number): string {
  let text = ''
  let units: number[] = []
  let at = start
  while (at < end) {
    const lead = bytes[at] ?? 0
    if (lead < 0x80) {
      units.push(lead)
      at++
    } else {
      const size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
      pushPoint(units, readPoint(bytes, at, size))
      at += size
    }
    if (units.length >= CHUNK) {
      text += String.fromCharCode(...units)
      units = []
    }
  }
  return text + String.fromCharCode(...units)
}

/** The code point of a sequence of two to four bytes. */
function readPoint(bytes: Uint8Array, at: number, size: number): number {
  let point = (bytes[at] ?? 0) & (0xff >> (size + 1))
  for (let k = 1; k < size; k++) point = (point << 6) | ((bytes[at + k] ?? 0) & 0x3f)
  return point
}

function pushPoint(units: number[], point: number): void {
  if (point > 0xffff) units.push(0xd7c0 + (point >> 10), 0xdc00 | (point & 0x3ff))
  else units.push(point)
}

/** A big-endian 32-bit unsigned number. */
export function readU32(bytes: Uint8Array, at: number): number {
  return (((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)) >>> 0
}

/** A big-endian 64-bit two's complement number: a number when it is a safe integer, else a bigint. */
export function readI64(bytes: Uint8Array, at: number): number | bigint {
  const high = readU32(bytes, at) | 0
  const low = readU32(bytes, at + 4)
  const near = high * 0x1_0000_0000 + low
  return Number.isSafeInteger(near) ? near : (BigInt(high) << 32n) | BigInt(low)
}

/** True when both hold the same bytes. Not for secrets: it stops at the first difference. */
export function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false
  for (let i = 0; i < left.length; i++) if (left[i] !== right[i]) return false
  return true
}

/** A text that equal bytes share and others do not: what short byte strings are looked up by in a map. */
export function keyOfBytes(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes)
}

/** Lower-case hex digits, two for each byte. */
export function toHex(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += HEX[byte]
  return text
}

/** The two digits of every byte. */
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
