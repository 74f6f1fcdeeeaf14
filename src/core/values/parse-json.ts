/** Parses untrusted input to plain JSON data: copies and checks it in one pass. */
import { MAX_JSON_DEPTH, MAX_JSON_NODES } from '../limits.ts'
import type { JsonValue } from './column-type.ts'
import { ValueError } from './column-type.ts'
import { isWellFormed } from './well-formed.ts'

const MESSAGE = 'must be a JSON value of plain objects, lists, text, finite numbers, true, false and null'

/** How large a value can be. */
export interface JsonBounds {
  readonly maxDepth: number
  readonly maxNodes: number
}

const BOUNDS: JsonBounds = { maxDepth: MAX_JSON_DEPTH, maxNodes: MAX_JSON_NODES }

/** The number of values copied so far, and the bounds. */
interface Counter extends JsonBounds {
  nodes: number
}

/**
 * Returns a deep copy of the input's own enumerable members. Throws `ValueError` for anything that JSON cannot hold.
 * `toJSON` is never called: only data decides. A getter runs once, and its result is checked like other values.
 */
export function parseJson(input: unknown, { maxDepth, maxNodes }: JsonBounds = BOUNDS): JsonValue {
  try {
    return copy(input, 1, { maxDepth, maxNodes, nodes: 0 })
  } catch (error) {
    if (error instanceof ValueError) throw error
    throw new ValueError(MESSAGE) // A getter or proxy of the caller threw. Its error may quote the value.
  }
}

/** The same for JSON text. */
export function parseJsonText(text: string): JsonValue {
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch {
    throw new ValueError('must be JSON text')
  }
  return parseJson(read)
}

function copy(input: unknown, depth: number, counter: Counter): JsonValue {
  if (++counter.nodes > counter.maxNodes) throw new ValueError(`must hold at most ${counter.maxNodes} JSON values`)
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
  for (const [name, member] of Object.entries(input)) {
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
