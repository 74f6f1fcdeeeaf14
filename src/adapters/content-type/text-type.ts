/** Recognizes text by its form, without building it: JSON, markup as a browser sees it, PDF, and tables (RFC 4180). A hostile text costs no more memory than its nesting. */

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

const MARKUP_SPACE = /[\t\n\f\r ]*/y
const COMMENT = '<!--'
const INSTRUCTION = '<?'
/** The document type, and the name of its root. */
const DOCTYPE = /<!doctype[\t\n\f\r ]+([a-z_][\w:.-]{0,199})/iy
/** The tag of an element: its prefix and name, or its name alone. */
const ROOT = /<([a-z_][\w.-]{0,99})(?::([a-z_][\w.-]{0,99}))?(?=[\t\n\f\r />]|$)/iy

/** Elements of HTML with which a file can begin. Source: WHATWG, MIME Sniffing, and the elements that are common at the beginning. */
const HTML_ELEMENTS: ReadonlySet<string> = new Set(
  (
    'a abbr address applet article aside audio b base basefont bdo blink blockquote body br button canvas center cite code col dd del ' +
    'details dialog dir div dl dt em embed fieldset figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html i iframe ' +
    'image img input ins isindex kbd keygen label legend li link listing main map marquee math menu meta nav nobr noscript object ol p ' +
    'param picture plaintext pre q s samp script section select slot small source span strike strong style sub summary sup table tbody td ' +
    'template textarea tfoot th thead title tr track tt u ul var video wbr xmp'
  ).split(' '),
)

/** Elements that make a browser run code, load something, or show a form, wherever they are in an HTML file. */
const ACTIVE =
  /<(?:!doctype[\t\n\f\r ]+html|(?:[a-z_][\w.-]{0,30}:)?script|html|head|body|iframe|frame|frameset|object|embed|applet|svg|math|style|meta|link|base|form|img|image|video|audio)(?=[\t\n\f\r />])/i

/** Returns the type of a file that begins with markup or is a PDF file; undefined if it is neither. `text` has no byte order mark. */
export function markupType(text: string): string | undefined {
  const start = skipWhiteSpace(text, 0)
  if (text.startsWith('%PDF-', start)) return 'application/pdf'
  if (text[start] !== '<') return undefined
  const isDeclaredXml = text.startsWith('<?xml', start)
  const root = rootOf(text, start)
  if (root === 'svg') return 'image/svg+xml'
  if (root !== undefined && HTML_ELEMENTS.has(root)) return 'text/html'
  if (isDeclaredXml) return 'application/xml'
  // A browser takes a file that begins with a comment for HTML.
  if (text.startsWith(COMMENT, start) || (root !== undefined && ACTIVE.test(text))) return 'text/html'
  return root !== undefined && isElement(text, root) ? 'application/xml' : undefined
}

/** True for a text with an active element. It may be shown as HTML, even if it does not begin as HTML. */
export function hasActiveMarkup(text: string): boolean {
  return ACTIVE.test(text)
}

/** Returns the name of the document type or of the first element, in lower case and without a prefix; undefined if there is neither. */
function rootOf(text: string, start: number): string | undefined {
  let position = start
  while (position < text.length) {
    const doctype = matchAt(DOCTYPE, text, position)
    if (doctype !== undefined) {
      const name = localName(doctype)
      if (name === 'html' || name === 'svg') return name
      position = skipDoctype(text, position)
    } else if (text.startsWith(COMMENT, position)) position = after('-->', text, position + COMMENT.length)
    else if (text.startsWith(INSTRUCTION, position)) position = after('?>', text, position)
    else {
      const element = matchAt(ROOT, text, position)
      return element === undefined ? undefined : localName(element)
    }
    position = skipWhiteSpace(text, position)
  }
  return undefined
}

/** True if the element is closed somewhere: `<stdio.h>` is no markup. */
function isElement(text: string, root: string): boolean {
  return new RegExp(`</(?:[a-z_][\\w.-]{0,60}:)?${root.replaceAll('.', '\\.')}\\s*>|^\\s*<[^<>]*/>\\s*$`, 'i').test(text)
}

function localName(match: RegExpExecArray): string {
  const [, first = '', second] = match
  return (second ?? first.split(':').at(-1) ?? '').toLowerCase()
}

/** Returns the position behind a document type, whose subset in brackets can contain ">". */
function skipDoctype(text: string, position: number): number {
  const end = text.indexOf('>', position)
  if (end === -1) return text.length
  const subset = text.slice(position, end).indexOf('[')
  if (subset === -1) return end + 1
  const subsetEnd = text.indexOf(']', position + subset)
  return subsetEnd === -1 ? text.length : after('>', text, subsetEnd)
}

function skipWhiteSpace(text: string, position: number): number {
  return position + (matchAt(MARKUP_SPACE, text, position)?.[0].length ?? 0)
}

/** Returns the position behind the next `end`; the end of the text if there is none. */
function after(end: string, text: string, position: number): number {
  const found = text.indexOf(end, position)
  return found === -1 ? text.length : found + end.length
}

function matchAt(sticky: RegExp, text: string, position: number): RegExpExecArray | undefined {
  sticky.lastIndex = position
  return sticky.exec(text) ?? undefined
}

const DELIMITERS = [
  { delimiter: ',', type: 'text/csv' },
  { delimiter: ';', type: 'text/csv' },
  { delimiter: '\t', type: 'text/tab-separated-values' },
] as const

/** A table has a row of names and one of values at least. */
const MIN_ROWS = 2
const MIN_COLUMNS = 2

/** Returns the type of a text that is a table; undefined if it is not. The last row of a text that is not whole is ignored. */
export function tableType(text: string, isWhole: boolean): string | undefined {
  return DELIMITERS.find(({ delimiter }) => isTable(text, delimiter, isWhole))?.type
}

function isTable(text: string, delimiter: string, isWhole: boolean): boolean {
  let columns = 0
  let rows = 0
  for (let position = 0; position < text.length; ) {
    const row = readRow(text, position, delimiter)
    if (row === undefined) return false
    if (row === 'cut' || (row.isCut && !isWhole)) break
    if (rows === 0 && !isHeader(row.cells)) return false
    if (rows > 0 && row.cells.length !== columns) return false
    columns = row.cells.length
    rows++
    position = row.end
    if (rows >= MIN_ROWS && position >= text.length) return true
  }
  return !isWhole && rows >= MIN_ROWS
}

/** True for names of columns: two at least, none empty, none twice. */
function isHeader(cells: readonly string[]): boolean {
  const names = cells.map((cell) => cell.trim())
  return names.length >= MIN_COLUMNS && !names.includes('') && new Set(names).size === names.length
}

interface Row {
  readonly cells: readonly string[]
  /** Position of the next row. */
  readonly end: number
  /** True if the text ends without a line break behind the row. */
  readonly isCut: boolean
}

/** Reads one row. Returns "cut" if the text ends within a quoted cell, and undefined if text follows a closing quote. */
function readRow(text: string, start: number, delimiter: string): Row | 'cut' | undefined {
  const cells: string[] = []
  for (let position = start; ; position++) {
    const end = text[position] === '"' ? endOfQuoted(text, position) : endOfPlain(text, position, delimiter)
    if (end === undefined) return 'cut'
    cells.push(text.slice(position, end))
    position = end
    const next = text[position]
    if (next === delimiter) continue
    if (next === undefined) return { cells, end: position, isCut: true }
    if (next === '\n') return { cells, end: position + 1, isCut: false }
    if (next === '\r') return { cells, end: position + (text[position + 1] === '\n' ? 2 : 1), isCut: false }
    return undefined
  }
}

function endOfPlain(text: string, start: number, delimiter: string): number {
  let position = start
  for (; position < text.length; position++) {
    const next = text[position]
    if (next === delimiter || next === '\n' || next === '\r') break
  }
  return position
}

/** Returns the position behind the closing quote. Two quotes are one quote of the cell. */
function endOfQuoted(text: string, start: number): number | undefined {
  for (let quote = text.indexOf('"', start + 1); quote !== -1; quote = text.indexOf('"', quote + 2)) {
    if (text[quote + 1] !== '"') return quote + 1
  }
  return undefined
}
