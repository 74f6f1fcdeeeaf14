/** JSON: any JSON value except null, which means that there is no value. */
import { readUtf8 } from '../util/bytes.ts'
import { textCell } from './cells.ts'
import type { ColumnType, JsonValue } from './column-type.ts'
import { ValueError } from './column-type.ts'
import { jsonCanonical } from './json-canonical.ts'
import { parseJson, parseJsonText } from './parse-json.ts'

/** Trusted form: copied, plain data. JSON values cannot be ordered. The order of members does not matter for equality. */
export const jsonType: ColumnType<JsonValue> = {
  name: 'JSON',
  tag: 8,
  physical: 'text',
  size: undefined,
  parse: (input) => present(parseJson(input)),
  fromText: (text) => present(parseJsonText(text)),
  write(value, out) {
    out.utf8(JSON.stringify(value))
  },
  read: (bytes, start, end) => readTrusted(readUtf8(bytes, start, end)),
  canonical(value, out) {
    out.utf8(jsonCanonical(value))
  },
  compare: () => undefined,
  toCell: (value) => JSON.stringify(value),
  fromCell: (cell) => readTrusted(textCell(cell)),
  toText: jsonCanonical,
  toJson: (value) => value,
}

function present(value: JsonValue): JsonValue {
  if (value === null) throw new ValueError('must be a JSON value other than null')
  return value
}

/** Returns the value of JSON text that this file wrote. */
export function readTrusted(text: string): JsonValue {
  return JSON.parse(text)
}
