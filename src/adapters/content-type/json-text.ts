/** Recognizes a JSON object or list, or the beginning of one, without building it: a hostile text costs no more memory than its nesting. */

const WHITE_SPACE = /[\t\n\r ]*/y
/** What can follow a backslash in a string. */
const ESCAPES = '"\\/bfnrtu'
const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** The characters before it are control characters, which a string has only as escapes. */
const FIRST_PRINTABLE = 0x20
/** More than the longest part of a literal. */
const MAX_CUT = 6

/** What can come next. `key` and `value` after a comma cannot be the end of a list. */
type Expected = 'first value' | 'value' | 'first key' | 'key' | 'colon' | 'comma' | 'nothing'

/** A position in a text, and the objects and lists that are open there. */
interface Reader {
  readonly text: string
  position: number
  expected: Expected
  readonly open: ('{' | '[')[]
}

/** True for a JSON object or list, and if the text is not whole, for the beginning of one. Other JSON values count as plain text. */
export function isJson(text: string, isWhole: boolean): boolean {
  const reader: Reader = { text, position: skip(WHITE_SPACE, text, 0), expected: 'value', open: [] }
  const first = text[reader.position]
  if (first !== '{' && first !== '[') return false
  while (reader.position < text.length) {
    if (!readNext(reader)) return !isWhole && isCut(reader)
    reader.position = skip(WHITE_SPACE, text, reader.position)
  }
  return reader.expected === 'nothing' || !isWhole
}

/** Reads one mark, string or scalar. Returns false if it cannot be at this position, or is not complete. */
function readNext(reader: Reader): boolean {
  const mark = reader.text[reader.position]
  switch (mark) {
    case '{':
    case '[':
      return opens(reader, mark)
    case '}':
    case ']':
      return closes(reader, mark)
    case ':':
      return passes(reader, 'colon', 'value')
    case ',':
      return passes(reader, 'comma', reader.open.at(-1) === '{' ? 'key' : 'value')
    case '"':
      return readString(reader)
    default:
      return readScalar(reader)
  }
}

function opens(reader: Reader, mark: '{' | '['): boolean {
  if (reader.expected !== 'value' && reader.expected !== 'first value') return false
  reader.open.push(mark)
  return moves(reader, 1, mark === '{' ? 'first key' : 'first value')
}

function closes(reader: Reader, mark: '}' | ']'): boolean {
  const isObject = mark === '}'
  if (reader.expected !== 'comma' && reader.expected !== (isObject ? 'first key' : 'first value')) return false
  if (reader.open.pop() !== (isObject ? '{' : '[')) return false
  return moves(reader, 1, afterValue(reader))
}

function passes(reader: Reader, expected: Expected, next: Expected): boolean {
  return reader.expected === expected && moves(reader, 1, next)
}

function readString(reader: Reader): boolean {
  const isKey = reader.expected === 'key' || reader.expected === 'first key'
  if (!isKey && reader.expected !== 'value' && reader.expected !== 'first value') return false
  const end = endOfString(reader.text, reader.position)
  return end !== undefined && moves(reader, end - reader.position, isKey ? 'colon' : afterValue(reader))
}

function readScalar(reader: Reader): boolean {
  if (reader.expected !== 'value' && reader.expected !== 'first value') return false
  const end = skip(SCALAR, reader.text, reader.position)
  return end > reader.position && moves(reader, end - reader.position, afterValue(reader))
}

function moves(reader: Reader, length: number, expected: Expected): boolean {
  reader.position += length
  reader.expected = expected
  return true
}

function afterValue({ open }: Reader): Expected {
  return open.length === 0 ? 'nothing' : 'comma'
}

/** Returns the position behind a string; undefined if it is not valid or has no end. */
function endOfString(text: string, start: number): number | undefined {
  const end = endOfCharacters(text, start + 1)
  return text[end] === '"' ? end + 1 : undefined
}

/** Returns the position of the first character that is not one of a string: its closing quote, an invalid one, or the end of the text. */
function endOfCharacters(text: string, start: number): number {
  for (let position = start; position < text.length; position++) {
    const code = text.charCodeAt(position)
    if (code === QUOTE || code < FIRST_PRINTABLE) return position
    if (code !== BACKSLASH) continue
    position++
    if (position < text.length && !ESCAPES.includes(text.charAt(position))) return position - 1
  }
  return text.length
}

/** True if what cannot be read is a string or scalar that is cut at the end of the text. */
function isCut({ text, position, expected }: Reader): boolean {
  const rest = text.slice(position, position + MAX_CUT)
  if (expected === 'comma') return /^(?:\.|[eE][+-]?)$/.test(rest)
  if (expected === 'colon' || expected === 'nothing') return false
  if (rest.startsWith('"')) return endOfCharacters(text, position + 1) === text.length
  return /^(?:t|tr|tru|f|fa|fal|fals|n|nu|nul|-)$/.test(rest)
}

function skip(sticky: RegExp, text: string, position: number): number {
  sticky.lastIndex = position
  return position + (sticky.exec(text)?.[0].length ?? 0)
}
