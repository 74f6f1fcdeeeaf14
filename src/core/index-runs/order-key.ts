/** Order keys: bytes that order as the values of a column do, and ranges of them. */
import { VaultError } from '../errors.ts'
import { ByteWriter } from '../util/bytes.ts'
import { at } from '../util/lists.ts'
import type { KeyForm } from '../values/column-type.ts'
import type { AnyColumnType } from '../values/column-types.ts'

/** Bytes of a key at most. The key of a longer text is cut to as many, and its opened record decides. */
export const MAX_KEY_BYTES = 64

/** The key of null: above those of all values. No UTF-8 has this byte, and no number has nine of them. */
export const NULL_KEY = new Uint8Array(9).fill(0xff)

/** A range of keys, `low` included and `high` not. Without a bound it goes on to the end. */
export interface KeyRange {
  readonly low?: Uint8Array | undefined
  readonly high?: Uint8Array | undefined
}

/** Holds nothing between calls. */
const scratch = new ByteWriter(256)

/** Returns the key of a trusted value, or of null. Its length says nothing but the type, except for text. Throws `internal` for a type without keys. */
export function orderKey(type: AnyColumnType, value: unknown): Uint8Array {
  if (value === null) return NULL_KEY
  const form = formOf(type)
  scratch.length = 0
  // As many units have at least as many bytes. One more, because the last one could be half of a character.
  if (form === 'text') scratch.utf8(String(value).slice(0, MAX_KEY_BYTES + 1))
  else type.canonical(value, scratch)
  const key = scratch.bytes.slice(0, Math.min(scratch.length, MAX_KEY_BYTES))
  turnSign(form, key, form === 'double' && at(key, 0) >= 0x80)
  return key
}

/** False if a key may have been cut: it is that of other values too, and the opened record decides. */
export function isWholeKey(key: Uint8Array): boolean {
  return key.length < MAX_KEY_BYTES
}

/** Returns the value of a whole key, which is not that of null. Throws `internal` for a type without keys. */
export function valueOfKey(type: AnyColumnType, key: Uint8Array): unknown {
  const form = formOf(type)
  if (form === 'text') return type.read(key, 0, key.length)
  if (type.fromCanonical === undefined)
    throw new VaultError('internal', `A key has no ${type.name}. This is a defect; please report it.`)
  const bytes = key.slice()
  turnSign(form, bytes, form === 'double' && at(key, 0) < 0x80)
  return type.fromCanonical(bytes, 0)
}

/** Returns the least key above one. As a bound it can be a byte longer than any key. */
export function keyAfter(key: Uint8Array): Uint8Array {
  const after = new Uint8Array(key.length + 1)
  after.set(key)
  return after
}

/**
 * Returns the keys of the values that compare so with one. `isExact` is false if some of them can be keys of other values too, because they are cut. A range
 * has no null.
 */
export function keysThat(
  operator: '=' | '<' | '<=' | '>' | '>=',
  type: AnyColumnType,
  value: unknown,
): { readonly range: KeyRange; readonly isExact: boolean } {
  const key = orderKey(type, value)
  const isExact = isWholeKey(key)
  // A key that is cut is of values on both sides.
  const from = operator === '>' && isExact ? keyAfter(key) : key
  const to = operator === '<' && isExact ? key : keyAfter(key)
  if (operator === '=') return { range: { low: key, high: keyAfter(key) }, isExact }
  return { range: operator === '<' || operator === '<=' ? { high: to } : { low: from, high: NULL_KEY }, isExact }
}

/** Returns the keys of the texts that begin with one. `isExact` as for `keysThat`. */
export function keysWithPrefix(type: AnyColumnType, prefix: string): { readonly range: KeyRange; readonly isExact: boolean } {
  const low = orderKey(type, prefix)
  const high = new Uint8Array(low.length + 1).fill(0xff)
  high.set(low)
  return { range: { low, high }, isExact: isWholeKey(low) }
}

/** Returns a negative number, zero or a positive number. */
export function compareKeys(left: Uint8Array, right: Uint8Array): number {
  return compareBytes(left, 0, left.length, right, 0, right.length)
}

/** The same for parts of bytes. */
export function compareBytes(left: Uint8Array, start: number, end: number, right: Uint8Array, from: number, to: number): number {
  const length = Math.min(end - start, to - from)
  for (let i = 0; i < length; i++) {
    const difference = (left[start + i] ?? 0) - (right[from + i] ?? 0) // Both exist: i < length.
    if (difference !== 0) return difference
  }
  return end - start - (to - from)
}

function formOf(type: AnyColumnType): KeyForm {
  if (type.keyForm !== undefined) return type.keyForm
  throw new VaultError('internal', `Values of ${type.name} have no order keys. This is a defect; please report it.`)
}

/** Turns the sign bit, or all bits. Done twice it gives the same bytes. */
function turnSign(form: KeyForm, bytes: Uint8Array, isWhole: boolean): void {
  if (form === 'bytes' || form === 'text') return
  if (isWhole) for (let i = 0; i < bytes.length; i++) bytes[i] = (bytes[i] ?? 0) ^ 0xff
  else bytes[0] = at(bytes, 0) ^ 0x80
}
