/** INTEGER: 64-bit signed whole numbers. FLOAT: finite double-precision numbers. */
import * as z from 'zod'
import { type ByteWriter, readI64, readU32 } from '../util/bytes.ts'
import { type ColumnType, numberCell, toSafeNumber, ValueError } from './column-type.ts'
import { foldNumber } from './spelling.ts'

const MIN = -(2n ** 63n)
const MAX = 2n ** 63n - 1n
/** Digits and sign of the longest 64-bit integer. */
const MAX_TEXT_LENGTH = 20
const DECIMAL = /^-?(?:0|[1-9][0-9]*)$/

/**
 * Trusted form: a number between -(2^53 - 1) and 2^53 - 1, else a bigint; never negative zero. The sealed form is always
 * eight bytes, so that the length of a body does not reveal the size of the number.
 */
export const integerType: ColumnType<number | bigint> = {
  name: 'INTEGER',
  tag: 2,
  physical: 'integer',
  size: 8,
  comparesAs: 'number',
  keyForm: 'signed',
  isOrdered: true,
  isSummable: true,
  scale: 0,
  options: { oneOf: z.array(z.int()).min(1).max(1000).readonly().optional() },
  parse(input) {
    if (typeof input === 'number') return parseNumber(input)
    if (typeof input === 'bigint') return parseBigint(input)
    if (typeof input === 'string') return integerType.fromText(input)
    throw new ValueError('must be a whole number')
  },
  fromText(text) {
    if (text.length > MAX_TEXT_LENGTH || !DECIMAL.test(text))
      throw new ValueError('must be a whole number of 64 bits in decimal digits')
    const near = Number(text)
    return Number.isSafeInteger(near) ? near + 0 : parseBigint(BigInt(text))
  },
  write(value, out) {
    out.i64(value)
  },
  read: (bytes, start) => readI64(bytes, start),
  canonical(value, out) {
    out.i64(value)
  },
  fromCanonical: readI64,
  compare: (left, right) => (left < right ? -1 : left > right ? 1 : 0),
  toCell: (value) => value,
  fromCell: numberCell,
  toText: (value) => value.toString(),
  isSpelledBy: (value, text) => foldNumber(value.toString()) === foldNumber(text),
  toJson: (value) => (typeof value === 'number' ? value : value.toString()),
}

function parseNumber(input: number): number {
  if (Number.isSafeInteger(input)) return input + 0 // Adding zero makes -0 zero.
  if (Number.isInteger(input)) throw new ValueError('must be a string beyond 2^53, because a number loses digits')
  throw new ValueError('must be a whole number')
}

function parseBigint(input: bigint): number | bigint {
  if (input < MIN || input > MAX) throw new ValueError('must be a whole number of 64 bits')
  return toSafeNumber(input)
}

/** The grammar of a JSON number: no plus, no leading zeros, no hexadecimal, no spaces. */
const JSON_NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/

/** Trusted form: a finite number. Negative zero becomes zero, so that equal values have equal bytes. */
export const floatType: ColumnType<number> = {
  name: 'FLOAT',
  tag: 3,
  physical: 'real',
  size: 8,
  comparesAs: 'number',
  keyForm: 'double',
  isOrdered: true,
  isSummable: true,
  parse(input) {
    if (typeof input !== 'number') throw new ValueError('must be a number')
    return finite(input)
  },
  fromText(text) {
    if (!JSON_NUMBER.test(text)) throw new ValueError('must be a decimal number')
    return finite(Number(text))
  },
  write: writeDouble,
  read: readDouble,
  canonical: writeDouble,
  fromCanonical: readDouble,
  compare: (left, right) => (left < right ? -1 : left > right ? 1 : 0),
  toCell: (value) => value,
  fromCell: (cell) => Number(numberCell(cell)),
  toText: (value) => value.toString(),
  isSpelledBy: (value, text) => foldNumber(value.toString()) === foldNumber(text),
  toJson: (value) => value,
}

/** Eight bytes for converting between numbers and their bytes. Holds nothing between calls. */
const SCRATCH = new DataView(new ArrayBuffer(8))

/** Big-endian IEEE 754, 64 bits. */
function writeDouble(value: number, out: ByteWriter): void {
  SCRATCH.setFloat64(0, value)
  out.u32(SCRATCH.getUint32(0))
  out.u32(SCRATCH.getUint32(4))
}

function readDouble(bytes: Uint8Array, start: number): number {
  SCRATCH.setUint32(0, readU32(bytes, start))
  SCRATCH.setUint32(4, readU32(bytes, start + 4))
  return SCRATCH.getFloat64(0)
}

function finite(value: number): number {
  if (!Number.isFinite(value)) throw new ValueError('must be a finite number')
  return value + 0 // Adding zero makes -0 zero.
}
