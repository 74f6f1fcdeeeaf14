/** STRING: any well-formed Unicode text, including NUL and the empty text. */
import * as z from 'zod'
import { type ByteWriter, isWellFormed, readUtf8 } from '../util/bytes.ts'
import { type ColumnType, textCell, ValueError } from './column-type.ts'
import { normalizers } from './normalizers.ts'
import { foldText } from './spelling.ts'

/** Trusted form: the text as given. Compared by code point. Digests are equal if the texts are equal in Unicode NFC. */
export const stringType: ColumnType<string> = {
  name: 'STRING',
  tag: 1,
  physical: 'text',
  size: undefined,
  comparesAs: 'text',
  keyForm: 'text',
  isOrdered: true,
  isSummable: false,
  isText: true,
  hasFormats: true,
  options: {
    pattern: z.string().min(1).max(1000).optional(),
    maxLength: z.int().min(1).optional(),
    oneOf: z.array(z.string()).min(1).max(1000).readonly().optional(),
    normalize: z
      .array(z.enum(Object.keys(normalizers)))
      .readonly()
      .optional(),
  },
  parse(input) {
    if (typeof input !== 'string') throw new ValueError('must be text')
    assertWellFormed(input)
    return input
  },
  fromText(text) {
    assertWellFormed(text)
    return text
  },
  write(value, out) {
    out.utf8(value)
  },
  read: readUtf8,
  canonical: writeNfc,
  compare: compareCodePoints,
  toCell: (value) => value,
  fromCell: textCell,
  toText: (value) => value,
  isSpelledBy: (value, text) => foldText(value) === foldText(text),
  toJson: (value) => value,
}

/** ASCII text. Unicode normalization does not change it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: The first ASCII characters are control characters.
const ASCII = /^[\x00-\x7f]*$/

function writeNfc(value: string, out: ByteWriter): void {
  out.utf8(ASCII.test(value) ? value : value.normalize('NFC'))
}

/** Compares by code point. Returns a negative number, zero or a positive number. UTF-16 units would put U+10000 before U+E000. */
export function compareCodePoints(left: string, right: string): number {
  if (left === right) return 0
  const shorter = Math.min(left.length, right.length)
  for (let i = 0; i < shorter; i++) {
    const one = left.charCodeAt(i)
    const other = right.charCodeAt(i)
    if (one !== other) return rank(one) - rank(other)
  }
  return left.length - right.length
}

/** Returns a sort key of a UTF-16 unit that puts surrogates above all other units. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}

/** Throws `ValueError` for text with lone surrogates: it could not be read back from its bytes. */
export function assertWellFormed(text: string): void {
  if (!isWellFormed(text)) throw new ValueError('must be well-formed Unicode text, without lone surrogates')
}
