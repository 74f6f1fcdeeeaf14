/** JSON and ARRAY: plain data, copied and checked in one pass, and its canonical text (RFC 8785). Null means that there is no value. */
import { FULL_JSON_VALUES, MAX_JSON_DEPTH, MAX_JSON_MEMBERS } from '../limits.ts'
import { isWellFormed, readUtf8 } from '../util/bytes.ts'
import { isList } from '../util/lists.ts'
import { type ColumnType, type JsonBudget, type JsonValue, textCell, ValueError } from './column-type.ts'
import { foldText } from './spelling.ts'

/** Trusted form: copied, plain data. JSON values cannot be ordered. The order of members and the Unicode form
 * of texts do not matter for equality. */
export const jsonType: ColumnType<JsonValue> = {
  name: 'JSON',
  tag: 8,
  physical: 'text',
  size: undefined,
  comparesAs: undefined,
  keyForm: undefined,
  isOrdered: false,
  isSummable: false,
  hasKeys: true,
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
function readTrusted(text: string): JsonValue {
  return JSON.parse(text)
}

/** Trusted form: a copied, plain list. Lists cannot be ordered. */
export const arrayType: ColumnType<readonly JsonValue[]> = {
  name: 'ARRAY',
  tag: 9,
  physical: 'text',
  size: undefined,
  comparesAs: undefined,
  keyForm: undefined,
  isOrdered: false,
  isSummable: false,
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

const MESSAGE = 'must be a JSON value of plain objects, lists, text, finite numbers, true, false and null'

/** The bounds of a value that is no value of a column. */
interface JsonBounds {
  readonly maxDepth: number
  readonly maxNodes: number
}

/** The number of values copied so far, and the bounds. */
interface Counter extends JsonBounds {
  nodes: number
  readonly tooMany: () => ValueError
}

/** The limit that the application sets. */
export interface JsonLimits {
  readonly maxJsonMembers: number
}

/** Returns the budget of one request. */
export function createJsonBudget({ maxJsonMembers }: JsonLimits): JsonBudget {
  return { maxMembers: maxJsonMembers, left: FULL_JSON_VALUES * maxJsonMembers }
}

/**
 * Returns a deep copy of the input's own enumerable members. Throws `ValueError` for anything that JSON cannot hold, and for more members than the
 * budget has, which it takes them from. `toJSON` is never called: only data decides. A getter runs once, and its result is checked like other values.
 */
export function parseJson(
  input: unknown,
  budget: JsonBudget = createJsonBudget({ maxJsonMembers: MAX_JSON_MEMBERS }),
): JsonValue {
  const counter = counterOf(budget)
  const value = parseWithin(input, counter)
  budget.left -= counter.nodes
  return value
}

/** Takes the members of a value from the budget of its request, without copying it. Returns false if there are not as many left. */
export function takeJson(input: unknown, budget: JsonBudget): boolean {
  budget.left -= membersOf(input, 1, budget.maxMembers)
  return budget.left >= 0
}

/** Counts the members of a value, up to some. */
function membersOf(input: unknown, depth: number, max: number): number {
  let count = 1
  if (typeof input !== 'object' || input === null || depth > MAX_JSON_DEPTH) return count
  for (const member of Array.isArray(input) ? input : Object.values(input)) {
    if (count >= max) return count
    count += membersOf(member, depth + 1, max - count)
  }
  return count
}

function counterOf({ maxMembers, left }: JsonBudget): Counter {
  const tooMany = () => {
    const rule =
      left < maxMembers
        ? `has more members than are left of the ${maxMembers * FULL_JSON_VALUES} for all JSON values of a request: split it`
        : `must have at most ${maxMembers} members at all levels: split it`
    return new ValueError(`${rule}, or raise limits.maxJsonMembers`, { isLimit: true })
  }
  return { maxDepth: MAX_JSON_DEPTH, maxNodes: Math.min(maxMembers, left), nodes: 0, tooMany }
}

/** As `parseJson`, for a value that is no value of a column. */
export function parseBoundedJson(input: unknown, bounds: JsonBounds): JsonValue {
  const tooMany = () => new ValueError(`must hold at most ${bounds.maxNodes} JSON values`)
  return parseWithin(input, { ...bounds, nodes: 0, tooMany })
}

function parseWithin(input: unknown, counter: Counter): JsonValue {
  try {
    return copy(input, 1, counter)
  } catch (error) {
    if (error instanceof ValueError) throw error
    throw new ValueError(MESSAGE) // A getter or proxy of the caller threw. Its error may quote the value.
  }
}

/** The same for JSON text. */
function parseJsonText(text: string, budget?: JsonBudget): JsonValue {
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch {
    throw new ValueError('must be JSON text')
  }
  return parseJson(read, budget)
}

function copy(input: unknown, depth: number, counter: Counter): JsonValue {
  if (++counter.nodes > counter.maxNodes) throw counter.tooMany()
  switch (typeof input) {
    case 'string':
      return checkedText(input)
    case 'number':
      if (!Number.isFinite(input)) throw new ValueError(MESSAGE)
      return input + 0 // Adding zero makes -0 zero: JSON text cannot hold -0.
    case 'boolean':
      return input
    case 'object':
      return input === null ? null : copyObject(input, depth, counter)
    default:
      throw new ValueError(MESSAGE)
  }
}

function copyObject(input: object, depth: number, counter: Counter): JsonValue {
  if (depth > counter.maxDepth) throw new ValueError(`must be nested at most ${counter.maxDepth} deep`)
  if (Array.isArray(input)) return copyList(input, depth, counter)
  if (!isPlain(input)) throw new ValueError(MESSAGE)
  const copied: Record<string, JsonValue> = {}
  for (const name of Object.keys(input)) {
    const member: unknown = Reflect.get(input, name)
    // Absent, as in JSON text. In a list there is no absence, so there it is refused.
    if (member === undefined) continue
    const value = copy(member, depth + 1, counter)
    if (name === '__proto__') Object.defineProperty(copied, name, { value, writable: true, enumerable: true, configurable: true })
    else copied[checkedText(name)] = value
  }
  return copied
}

function copyList(input: readonly unknown[], depth: number, counter: Counter): JsonValue[] {
  const copied: JsonValue[] = []
  // By index: an iterator of the caller could return other items on each pass.
  for (let i = 0; i < input.length; i++) copied.push(copy(input[i], depth + 1, counter))
  return copied
}

/** True for an object literal, of this realm or another, and for an object without a prototype. False for instances of a class. */
function isPlain(input: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(input)
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null
}

function checkedText(text: string): string {
  if (!isWellFormed(text)) throw new ValueError('must hold well-formed Unicode text, without lone surrogates')
  return text
}

/**
 * Returns the canonical text of plain JSON data without lone surrogates: members in the order of their UTF-16 units, no white space.
 * `spell` replaces each text and each name of a member; members whose names become equal keep an order of their own.
 */
export function jsonCanonical(value: JsonValue, spell: (text: string) => string = asIs): string {
  if (typeof value === 'string') return JSON.stringify(spell(value))
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (isList(value)) return `[${value.map((item) => jsonCanonical(item, spell)).join(',')}]`
  // The default order of a sort is that of UTF-16 units.
  if (spell === asIs) {
    const texts = Object.keys(value).sort()
    return `{${texts.map((name) => `${JSON.stringify(name)}:${jsonCanonical(value[name] ?? null)}`).join(',')}}`
  }
  const members = Object.entries(value).map(([name, member]) => [spell(name), jsonCanonical(member, spell)] as const)
  members.sort(([one, text], [other, otherText]) => compareUnits(one, other) || compareUnits(text, otherText))
  return `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`
}

function asIs(text: string): string {
  return text
}

function compareUnits(left: string, right: string): number {
  if (left === right) return 0
  return left < right ? -1 : 1
}
