/** Untrusted input to plain JSON data: copied and checked in one walk. */
import { JSON_DEPTH, JSON_NODES } from '../limits.ts'
import type { JsonValue } from './column-type.ts'
import { ValueFault } from './column-type.ts'
import { isWellFormed } from './well-formed.ts'

const FAULT = 'must be a JSON value of plain objects, lists, text, finite numbers, true, false and null'

/** Counts values seen so far. */
interface Walk {
  nodes: number
}

/**
 * A deep copy of the input's own enumerable members. `toJSON` is never called, so that nothing but data decides; a getter
 * runs once and its answer is checked like any other. Throws `ValueFault` for whatever JSON cannot hold.
 */
export function parseJson(input: unknown): JsonValue {
  try {
    return copy(input, 1, { nodes: 0 })
  } catch (error) {
    if (error instanceof ValueFault) throw error
    throw new ValueFault(FAULT) // A getter or a proxy of the caller's threw; what it threw may quote the value.
  }
}

/** The same from JSON text. */
export function parseJsonText(text: string): JsonValue {
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch {
    throw new ValueFault('must be JSON text')
  }
  return parseJson(read)
}

function copy(input: unknown, depth: number, walk: Walk): JsonValue {
  if (++walk.nodes > JSON_NODES) throw new ValueFault(`must hold at most ${JSON_NODES} JSON values`)
  switch (typeof input) {
    case 'string':
      return checkedText(input)
    case 'number':
      if (!Number.isFinite(input)) throw new ValueFault(FAULT)
      return input + 0 // Adding zero makes -0 zero: JSON text knows no other.
    case 'boolean':
      return input
    case 'object':
      return input === null ? null : copyObject(input, depth, walk)
    default:
      throw new ValueFault(FAULT)
  }
}

function copyObject(input: object, depth: number, walk: Walk): JsonValue {
  if (depth > JSON_DEPTH) throw new ValueFault(`must be nested at most ${JSON_DEPTH} deep`)
  if (Array.isArray(input)) return copyList(input, depth, walk)
  if (!isPlain(input)) throw new ValueFault(FAULT)
  const copied: Record<string, JsonValue> = {}
  for (const [name, member] of Object.entries(input)) {
    const value = copy(member, depth + 1, walk)
    if (name === '__proto__') Object.defineProperty(copied, name, { value, writable: true, enumerable: true, configurable: true })
    else copied[checkedText(name)] = value
  }
  return copied
}

function copyList(input: readonly unknown[], depth: number, walk: Walk): JsonValue[] {
  const copied: JsonValue[] = []
  for (let i = 0; i < input.length; i++) copied.push(copy(input[i], depth + 1, walk))
  return copied
}

/** An object literal, of this realm or another, or one without a prototype; no instance of a class. */
function isPlain(input: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(input)
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null
}

function checkedText(text: string): string {
  if (!isWellFormed(text)) throw new ValueFault('must hold well-formed Unicode text, without lone surrogates')
  return text
}
