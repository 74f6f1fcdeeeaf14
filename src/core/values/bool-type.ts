/** BOOL: true and false. Truthy and falsy values are rejected. */
import { type ColumnType, numberCell, ValueError } from './column-type.ts'
import { foldText } from './spelling.ts'

/** Trusted form: a boolean. False sorts before true. */
export const boolType: ColumnType<boolean> = {
  name: 'BOOL',
  tag: 4,
  physical: 'integer',
  size: 1,
  comparesAs: 'boolean',
  keyForm: 'bytes',
  // Conditions order false before true; databases have no least boolean.
  isOrdered: false,
  isSummable: false,
  parse(input) {
    if (typeof input !== 'boolean') throw new ValueError('must be true or false')
    return input
  },
  fromText(text) {
    if (text === 'true') return true
    if (text === 'false') return false
    throw new ValueError('must be true or false')
  },
  fromLiteral(text) {
    const word = text.trim().toLowerCase()
    return boolType.fromText(TRUE_WORDS.test(word) ? 'true' : FALSE_WORDS.test(word) ? 'false' : word)
  },
  write(value, out) {
    out.u8(value ? 1 : 0)
  },
  read: (bytes, start) => bytes[start] === 1,
  canonical(value, out) {
    out.u8(value ? 1 : 0)
  },
  fromCanonical: (bytes, start) => bytes[start] === 1,
  compare: (left, right) => Number(left) - Number(right),
  toCell: (value) => (value ? 1 : 0),
  fromCell: (cell) => numberCell(cell) !== 0,
  toText: (value) => (value ? 'true' : 'false'),
  isSpelledBy: (value, text) => (value ? TRUE : FALSE).has(foldText(text)),
  toJson: (value) => value,
}

/** The words of PostgreSQL, which are more than a record can contain: an unambiguous prefix is enough. */
const TRUE_WORDS = /^(t|tr|tru|true|y|ye|yes|on|1)$/
const FALSE_WORDS = /^(f|fa|fal|fals|false|n|no|of|off|0)$/

const TRUE: ReadonlySet<string> = new Set(['true', 't', 'yes', 'y', 'on', '1'])
const FALSE: ReadonlySet<string> = new Set(['false', 'f', 'no', 'n', 'off', '0'])
