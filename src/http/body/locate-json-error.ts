/** Finds the first place where text is not the JSON that a body may be. Runs only for text that is known to have such a place. */
import { isWhiteSpace } from './scan-json-text.ts'

/** Where the text is wrong, and how. */
export interface JsonError {
  /** Continues "The body". */
  readonly reason: string
  /** From 1. */
  readonly line: number
  /** From 1, in UTF-16 units. */
  readonly column: number
}

/** One piece of the text: punctuation, a string, or another scalar value. Or the end, or what is not JSON. */
interface Lexeme {
  readonly kind: '{' | '}' | '[' | ']' | ',' | ':' | 'string' | 'scalar' | 'end' | 'wrong'
  readonly start: number
  readonly end: number
  /** Of what is wrong: how. */
  readonly reason?: string
}

/** What can come next. */
type Expected = 'value' | 'value or end' | 'name' | 'name or end' | 'colon' | 'comma or end' | 'nothing'

/** Where the reading is. */
interface Reading {
  expected: Expected
  /** The lists and objects that are not closed yet. */
  readonly open: Container[]
}

/** A list, or an object with the names of its members. */
type Container = Set<string> | 'list'

const NOT_JSON = 'is not JSON'
const LONE_SURROGATE = 'holds a lone surrogate'

/** Returns the first such place. Of text that has none, returns its end. */
export function locateJsonError(text: string): JsonError {
  const reading: Reading = { expected: 'value', open: [] }
  let lexeme = readLexeme(text, 0)
  while (lexeme.kind !== 'end') {
    const reason = lexeme.reason ?? accept(reading, lexeme, text)
    if (reason !== undefined) return placeOf(text, lexeme.start, reason)
    lexeme = readLexeme(text, lexeme.end)
  }
  return placeOf(text, text.length, NOT_JSON)
}

/** Moves on past a lexeme. Returns a reason if it cannot come here. */
function accept(reading: Reading, { kind, start, end }: Lexeme, text: string): string | undefined {
  const { expected, open } = reading
  const isName = expected.startsWith('name') && kind === 'string'
  const next = nextExpected(expected, kind, open.at(-1))
  if (next === undefined) return NOT_JSON
  if (next === 'name or end') open.push(new Set())
  else if (next === 'value or end') open.push('list')
  else if (kind === '}' || kind === ']') open.pop()
  reading.expected = next === 'end of value' ? afterValue(reading) : next
  return isName ? addName(open.at(-1), JSON.parse(text.slice(start, end))) : undefined
}

/** Returns what can come after a lexeme; undefined if it cannot come. */
function nextExpected(
  expected: Expected,
  kind: Lexeme['kind'],
  inside: Container | undefined,
): Expected | 'end of value' | undefined {
  if (expected.endsWith('or end') && kind === (inside === 'list' ? ']' : '}')) return 'end of value'
  switch (expected) {
    case 'value':
    case 'value or end':
      if (kind === '{') return 'name or end'
      if (kind === '[') return 'value or end'
      return kind === 'string' || kind === 'scalar' ? 'end of value' : undefined
    case 'name':
    case 'name or end':
      return kind === 'string' ? 'colon' : undefined
    case 'colon':
      return kind === ':' ? 'value' : undefined
    case 'comma or end':
      if (kind !== ',') return undefined
      return inside === 'list' ? 'value' : 'name'
    case 'nothing':
      return undefined
  }
}

function afterValue({ open }: Reading): Expected {
  return open.length === 0 ? 'nothing' : 'comma or end'
}

function addName(names: Container | undefined, name: string): string | undefined {
  if (names === undefined || names === 'list') return NOT_JSON
  if (names.has(name)) return 'has two members of the same name in one object'
  names.add(name)
  return undefined
}

function readLexeme(text: string, from: number): Lexeme {
  let start = from
  while (isWhiteSpace(text.charCodeAt(start))) start++
  const character = text.charAt(start)
  switch (character) {
    case '':
      return { kind: 'end', start, end: start }
    case '{':
    case '}':
    case '[':
    case ']':
    case ',':
    case ':':
      return { kind: character, start, end: start + 1 }
    case '"':
      return readString(text, start)
    default:
      return readScalar(text, start)
  }
}

const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

function readScalar(text: string, start: number): Lexeme {
  SCALAR.lastIndex = start
  const [scalar] = SCALAR.exec(text) ?? []
  if (scalar === undefined) return wrong(start, NOT_JSON)
  if (Math.abs(Number(scalar)) === Number.POSITIVE_INFINITY) return wrong(start, 'holds a number that is too large for a double')
  if (isRounded(scalar)) return wrong(start, 'holds an integer beyond 2^53, which must be text because a number loses digits')
  return { kind: 'scalar', start, end: start + scalar.length }
}

/** True for the digits of an integer that is no double. What programs write of a double is one: as few digits as identify it, and zeros. */
export function isRounded(scalar: string): boolean {
  if (scalar.length < 16 || !/^-?\d+$/.test(scalar)) return false
  const near = Number(scalar)
  return String(near) !== scalar && BigInt(near) !== BigInt(scalar)
}

/** Text of a string without escapes and surrogates. */
const PLAIN = /(?:[ !#-[\]-\ud7ff\ue000-\uffff])*/y
const UNICODE_ESCAPE = /\\u([0-9a-fA-F]{4})/y

function readString(text: string, start: number): Lexeme {
  let high = -1 // The position of a high surrogate in front.
  let i = afterPlain(text, start + 1)
  while (i < text.length && text[i] !== '"') {
    const unit = readUnit(text, i)
    if (unit === undefined) return wrong(i, NOT_JSON)
    const isLow = unit.code >= 0xdc00 && unit.code <= 0xdfff
    if (isLow && high < 0) return wrong(i, LONE_SURROGATE)
    const isHigh = unit.code >= 0xd800 && unit.code <= 0xdbff
    const next = isHigh ? unit.end : afterPlain(text, unit.end)
    if (high >= 0 && !isLow) return wrong(high, LONE_SURROGATE)
    high = isHigh ? i : -1
    i = next
  }
  if (i >= text.length) return wrong(i, NOT_JSON)
  return high >= 0 ? wrong(high, LONE_SURROGATE) : { kind: 'string', start, end: i + 1 }
}

function afterPlain(text: string, from: number): number {
  PLAIN.lastIndex = from
  PLAIN.test(text)
  return PLAIN.lastIndex
}

/** Returns the UTF-16 unit at a position of a string, written as itself or as an escape. Undefined if it is not allowed there. */
function readUnit(text: string, position: number): { readonly code: number; readonly end: number } | undefined {
  const code = text.charCodeAt(position)
  if (code < 0x20) return undefined
  if (text[position] !== '\\') return { code, end: position + 1 }
  if ('"\\/bfnrt'.includes(text[position + 1] ?? ' ')) return { code, end: position + 2 }
  UNICODE_ESCAPE.lastIndex = position
  const [, digits] = UNICODE_ESCAPE.exec(text) ?? []
  return digits === undefined ? undefined : { code: Number.parseInt(digits, 16), end: position + 6 }
}

function wrong(start: number, reason: string): Lexeme {
  return { kind: 'wrong', start, end: start, reason }
}

function placeOf(text: string, position: number, reason: string): JsonError {
  const lineStart = text.lastIndexOf('\n', position - 1) + 1
  let line = 1
  for (let i = text.indexOf('\n'); i >= 0 && i < lineStart; i = text.indexOf('\n', i + 1)) line++
  return { reason, line, column: position - lineStart + 1 }
}
