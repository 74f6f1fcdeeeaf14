/** The byte buffer and UTF-8 in both directions, compared with the runtime. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ByteWriter, readI64, readU32, readUtf8, sameBytes, toHex, writeHex } from '../../../src/core/util/bytes.ts'

const RUNS = { seed: 20_260_131, numRuns: 1000 }

describe('a byte buffer', () => {
  it.each([1, 63, 64, 65, 200])('of %i bytes returns what was written so far', (capacity) => {
    const out = new ByteWriter(capacity)
    expect(out.written()).toEqual(new Uint8Array(0))
    for (let i = 0; i < capacity; i++) out.u8(i)
    expect([...out.written()]).toEqual(Array.from({ length: capacity }, (_, i) => i))
    out.raw(Uint8Array.of(7, 8))
    expect([...out.written().slice(-3)]).toEqual([capacity - 1, 7, 8])
  })
})

describe('UTF-8', () => {
  it('is written and read as the runtime does, for any well-formed text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        const out = new ByteWriter(1)
        out.utf8(text)
        expect(Buffer.from(out.written()).equals(Buffer.from(text))).toBe(true)
        expect(readUtf8(out.bytes, 0, out.length)).toBe(text)
      }),
      RUNS,
    )
  })

  it('is read as the runtime does from any short bytes, also damaged ones', () => {
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
    const text = fc.string({ unit: fc.constantFrom('a', 'é', 'ß', '\u0080', '\u07ff', 'ࠀ', '𝒳'), maxLength: 20 })
    const damaged = fc.array(fc.constantFrom(0x41, 0x7f, 0x80, 0xbf, 0xc0, 0xc1, 0xc2, 0xc3, 0xdf, 0xe0, 0xff), { maxLength: 8 })
    const bytes = fc.oneof(
      text.map((one) => Buffer.from(one)),
      damaged.map((list) => Buffer.from(list)),
    )
    fc.assert(
      fc.property(bytes, fc.nat({ max: 3 }), (written, cut) => {
        const end = Math.max(0, written.length - cut)
        expect(readUtf8(written, 0, end)).toBe(decoder.decode(written.subarray(0, end)))
      }),
      { ...RUNS, numRuns: 5000 },
    )
  })

  it('is read in every short length, with and without a character that is not ASCII', () => {
    const around = Array.from({ length: 80 }, (_, index) => 0x21 + index)
    const bytes = Uint8Array.from(around)
    for (let start = 0; start < 3; start++)
      for (let length = 0; length <= 40; length++) {
        const text = String.fromCharCode(...around.slice(start, start + length))
        expect(readUtf8(bytes, start, start + length)).toBe(text)
        for (let at = 0; at < length; at++) {
          const mixed = `${text.slice(0, at)}é${text.slice(at + 1)}`
          const written = Buffer.concat([Buffer.from('~~'), Buffer.from(mixed), Buffer.from('~~')])
          expect(readUtf8(written, 2, written.length - 2)).toBe(mixed)
        }
      }
  })

  it.each([
    ['every code point up to U+FFFF', 0, 0xffff],
    ['code points beyond it', 0x10000, 0x10fff],
    ['the last code points', 0x10ff00, 0x10ffff],
  ])('holds %s', (_what, first, last) => {
    let text = ''
    for (let point = first; point <= last; point++) if (point < 0xd800 || point > 0xdfff) text += String.fromCodePoint(point)
    const out = new ByteWriter()
    out.utf8(text)
    expect(Buffer.from(out.written()).equals(Buffer.from(text))).toBe(true)
    expect(readUtf8(out.bytes, 0, out.length)).toBe(text)
  })

  it.each([4095, 4096, 4097, 8192, 100_001])('reads %i bytes across chunks', (size) => {
    for (const text of ['a'.repeat(size), `${'a'.repeat(size - 1)}é`, '𝒳'.repeat(Math.ceil(size / 4))]) {
      const out = new ByteWriter()
      out.utf8(text)
      expect(readUtf8(out.bytes, 0, out.length) === text).toBe(true)
    }
  })

  it('writes U+FFFD for a lone surrogate, as the runtime does', () => {
    for (const text of ['a\ud800', '\udc00b', '\ud800\ud800\udc00', '\udc00\ud800']) {
      const out = new ByteWriter()
      out.utf8(text)
      expect(Buffer.from(out.written()).equals(Buffer.from(text))).toBe(true)
    }
  })

  it('reads only the bytes between start and end', () => {
    const out = new ByteWriter()
    out.utf8('beforeéhéafter')
    expect(readUtf8(out.bytes, 6, 11)).toBe('éhé')
    expect(readUtf8(out.bytes, 3, 3)).toBe('')
  })
})

describe('64-bit integers', () => {
  it('are read back exactly and written as big-endian two’s complement', () => {
    const edges = fc.constantFrom(0n, -1n, 2n ** 53n, -(2n ** 53n), 2n ** 63n - 1n, -(2n ** 63n), 2n ** 32n, -(2n ** 32n))
    fc.assert(
      fc.property(
        fc.oneof(edges, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.maxSafeInteger().map(BigInt)),
        (value) => {
          const near = Number(value)
          const given = Number.isSafeInteger(near) ? near : value
          const out = new ByteWriter(1)
          out.i64(given)
          expect(Buffer.from(out.written()).readBigInt64BE()).toBe(value)
          expect(readI64(out.bytes, 0)).toBe(given)
        },
      ),
      RUNS,
    )
  })
})

describe('a byte writer', () => {
  it('grows from capacity 0 and keeps its content', () => {
    const out = new ByteWriter(0)
    for (let i = 0; i < 1000; i++) out.u8(i & 0xff)
    out.raw(Uint8Array.of(1, 2, 3))
    out.u32(0xdead_beef)
    expect(out.length).toBe(1007)
    expect(out.written()[999]).toBe(999 & 0xff)
    expect([...out.written().subarray(1000, 1003)]).toEqual([1, 2, 3])
    expect(readU32(out.bytes, 1003)).toBe(0xdead_beef)
  })

  it.each([
    [0, [0]],
    [127, [127]],
    [128, [0x80, 1]],
    [16_384, [0x80, 0x80, 1]],
    [2 ** 31 - 1, [0xff, 0xff, 0xff, 0xff, 7]],
  ])('writes %i in groups of seven bits', (value, bytes) => {
    const out = new ByteWriter(1)
    out.varint(value)
    expect([...out.written()]).toEqual(bytes)
  })
})

it('returns true only if all bytes are equal', () => {
  expect(sameBytes(Uint8Array.of(1, 2), Uint8Array.of(1, 2))).toBe(true)
  expect(sameBytes(Uint8Array.of(1, 2), Uint8Array.of(1, 3))).toBe(false)
  expect(sameBytes(Uint8Array.of(1, 2), Uint8Array.of(1, 2, 0))).toBe(false)
})

it('writes hex digits as Buffer does, of every byte and of any length', () => {
  const every = Uint8Array.from({ length: 256 }, (_, byte) => byte)
  for (const bytes of [every, new Uint8Array(0), every.subarray(250), new Uint8Array(5000).fill(0xa9)]) {
    const expected = Buffer.from(bytes).toString('hex')
    expect(toHex(bytes)).toBe(expected)
    const target = new Uint8Array(expected.length + 2).fill(7)
    expect(writeHex(target, 1, bytes)).toBe(expected.length + 1)
    expect(Buffer.from(target).toString('latin1')).toBe(`\x07${expected}\x07`)
    const out = new ByteWriter(1)
    out.hex(bytes)
    expect(Buffer.from(out.written()).toString('latin1')).toBe(expected)
  }
})
