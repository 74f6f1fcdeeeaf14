/** JSON: any JSON value except null, which means that there is no value. */
import { readUtf8 } from '../util/bytes.ts'
import { textCell } from './cells.ts'
import { type ColumnType, type JsonValue, ValueError } from './column-type.ts'
import { jsonCanonical } from './json-canonical.ts'
import { parseJson, parseJsonText } from './parse-json.ts'
import { foldText } from './spelling.ts'

/** Trusted form: copied, plain data. JSON values cannot be ordered. The order of members and the Unicode form
 * of texts do not matter for equality. */
export const jsonType: ColumnType<JsonValue> = {
  name: 'JSON',
  tag: 8,
  physical: 'text',
  size: undefined,
  parse: (input, json) => present(parseJson(input, json)),
  fromText: (text, json) => present(parseJsonText(text, json)),
  write(value, out) {
    out.utf8(JSON.stringify(value))
  },
  read: (bytes, start, end) => readTrusted(readUtf8(bytes, start, end)),
  canonical(value, out) {
    const text = jsonCanonical(value)
    out.utf8(ASCII.test(text) ? text : jsonCanonical(value, toNfc))
  },
  compare: () => undefined,
  toCell: (value) => JSON.stringify(value),
  fromCell: (cell) => readTrusted(textCell(cell)),
  toText: (value) => jsonCanonical(value),
  isSpelledBy(value, text) {
    const read = readUntrusted(text)
    return read === undefined
      ? foldText(jsonCanonical(value)) === foldText(text)
      : jsonCanonical(value, foldText) === jsonCanonical(read, foldText)
  },
  toJson: (value) => value,
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: The first ASCII characters are control characters.
const ASCII = /^[\x00-\x7f]*$/

function toNfc(text: string): string {
  return text.normalize('NFC')
}

/** Returns the value of JSON text; undefined for other text. */
function readUntrusted(text: string): JsonValue | undefined {
  try {
    return parseJsonText(text.trim())
  } catch (error) {
    if (error instanceof ValueError) return undefined
    throw error
  }
}

function present(value: JsonValue): JsonValue {
  if (value === null) throw new ValueError('must be a JSON value other than null')
  return value
}

/** Returns the value of JSON text that this file wrote. */
export function readTrusted(text: string): JsonValue {
  return JSON.parse(text)
}
