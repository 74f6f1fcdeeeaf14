/** FLOAT: finite double-precision numbers. */
import { type ByteWriter, readU32 } from '../util/bytes.ts'
import { numberCell } from './cells.ts'
import { type ColumnType, ValueError } from './column-type.ts'
import { foldNumber } from './spelling.ts'

/** The grammar of a JSON number: no plus, no leading zeros, no hexadecimal, no spaces. */
const JSON_NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/

/** Trusted form: a finite number. Negative zero becomes zero, so that equal values have equal bytes. */
export const floatType: ColumnType<number> = {
  name: 'FLOAT',
  tag: 3,
  physical: 'real',
  size: 8,
  parse(input) {
    if (typeof input !== 'number') throw new ValueError('must be a number')
    return finite(input)
  },
  fromText(text) {
    if (!JSON_NUMBER.test(text)) throw new ValueError('must be a decimal number')
    return finite(Number(text))
  },
  write: writeDouble,
  read(bytes, start) {
    SCRATCH.setUint32(0, readU32(bytes, start))
    SCRATCH.setUint32(4, readU32(bytes, start + 4))
    return SCRATCH.getFloat64(0)
  },
  canonical: writeDouble,
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

function finite(value: number): number {
  if (!Number.isFinite(value)) throw new ValueError('must be a finite number')
  return value + 0 // Adding zero makes -0 zero.
}
