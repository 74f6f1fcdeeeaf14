/** ARRAY: a list of JSON values. */
import { type ColumnType, type JsonValue, ValueError } from './column-type.ts'
import { isList } from './json-canonical.ts'
import { jsonType } from './json-type.ts'
import { parseJson, parseJsonText } from './parse-json.ts'

/** Trusted form: a copied, plain list. Lists cannot be ordered. */
export const arrayType: ColumnType<readonly JsonValue[]> = {
  name: 'ARRAY',
  tag: 9,
  physical: 'text',
  size: undefined,
  parse: (input, json) => list(parseJson(input, json)),
  fromText: (text, json) => list(parseJsonText(text, json)),
  write: jsonType.write,
  read: (bytes, start, end) => list(jsonType.read(bytes, start, end)),
  canonical: jsonType.canonical,
  compare: () => undefined,
  toCell: jsonType.toCell,
  fromCell: (cell) => list(jsonType.fromCell(cell)),
  toText: jsonType.toText,
  isSpelledBy: jsonType.isSpelledBy,
  toJson: (value) => value,
}

function list(value: JsonValue): readonly JsonValue[] {
  if (!isList(value)) throw new ValueError('must be a list')
  return value
}
