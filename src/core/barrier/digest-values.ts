/** Digests of values and the cells of look-ups, by which equal values are found without opening a body. */
import { VaultError } from '../errors.ts'
import { DIGEST_BYTES, type KeyRing } from '../ports/crypto.ts'
import type { Cell } from '../ports/storage.ts'
import type { Column } from '../schema/layout.ts'
import { toDigestUuid } from '../sealing/envelope.ts'
import { ByteWriter, keyOfBytes, sameBytes } from '../util/bytes.ts'
import { required } from '../util/lists.ts'
import { fewNumbers, plaintextBytes, type Slab } from '../util/memory.ts'
import { normalize } from '../values/normalizers.ts'

/** Returns the stored digest of each value, in order. No value is null. Throws `internal` if the key ring returns too few bytes. */
export function digestValues(ring: KeyRing, column: Column, values: readonly unknown[]): Uint8Array[] {
  const out = new ByteWriter(values.length * 32, plaintextBytes)
  const ends = fewNumbers(values.length)
  for (let i = 0; i < values.length; i++) {
    writeCanonical(column, values[i], out)
    ends[i] = out.length
  }
  const digests = digestItems(ring, column.scope, { bytes: out.written(), ends, count: values.length })
  const stored: Uint8Array[] = new Array(values.length)
  const isToken = column.token?.isDeterministic === true
  for (let i = 0; i < values.length; i++) {
    const start = i * DIGEST_BYTES
    const digest = digests.subarray(start, start + column.digestLength)
    stored[i] = isToken ? toDigestUuid(digest) : digest
  }
  return stored
}

/** Returns DIGEST_BYTES for each item, in order. Throws `internal` if the key ring returns a wrong number. */
export function digestItems(ring: KeyRing, scope: string, items: Slab): Uint8Array {
  const digests = ring.digest(ring.lookupVersion, scope, items)
  if (digests.length === items.count * DIGEST_BYTES) return digests
  throw new VaultError('internal', 'The key ring returned digests of a wrong length. This is a defect; please report it.')
}

/** Returns the stored digest of each value, in order; undefined for null. */
export function digestPresent(ring: KeyRing, column: Column, values: readonly unknown[]): (Uint8Array | undefined)[] {
  const digests = digestValues(
    ring,
    column,
    values.filter((value) => value !== null),
  )
  let next = 0
  return values.map((value) => (value === null ? undefined : required(digests[next++])))
}

/** True if two values of a column are equal for uniqueness and lookup, that is, after normalization. */
export function isSameValue(column: Column, left: unknown, right: unknown): boolean {
  const [leftBytes, rightBytes] = [new ByteWriter(64), new ByteWriter(64)]
  writeCanonical(column, left, leftBytes)
  writeCanonical(column, right, rightBytes)
  return sameBytes(leftBytes.written(), rightBytes.written())
}

/** True if a stored value is this one, without normalization. The order of the members of JSON is no part of a value. */
export function isUnchanged(column: Column, stored: unknown, value: unknown): boolean {
  if (stored === value) return value !== null
  if (stored === null || value === null || typeof value !== 'object') return false
  return column.type.toText(stored) === column.type.toText(value)
}

/** Returns the text that equal values share after normalization. Derived tokens are excluded from equaling it. */
export function comparedText(column: Column, value: unknown): string {
  return keyText(column, column.type.toText(value)).normalize('NFC')
}

/** False for a text of which the normalizers of a column leave nothing. No column with digests stores one. */
export function hasKey({ normalize: names }: Column, value: unknown): boolean {
  return names.length === 0 || typeof value !== 'string' || normalize(names, value) !== undefined
}

/**
 * Returns the normal form of a text; without one the text itself. It finds nothing then: each normal form is its own normal form, so a text
 * without one differs from all of them.
 */
function keyText(column: Column, text: string): string {
  return normalize(column.normalize, text) ?? text
}

/** Writes the bytes that equal values share: the tag of the type, then the canonical form of the normalized value. */
function writeCanonical(column: Column, value: unknown, out: ByteWriter): void {
  out.u8(column.type.tag)
  const compared = column.normalize.length > 0 && typeof value === 'string' ? keyText(column, value) : value
  column.type.canonical(compared, out)
}

/** Returns the cell of `column.lookup` for each value, in order: a digest, or the plain cell. No value is null. */
export function lookupCells(ring: KeyRing, column: Column, values: readonly unknown[]): Exclude<Cell, null>[] {
  return column.lookup === column.digest ? digestValues(ring, column, values) : values.map((value) => column.type.toCell(value))
}

/** Returns text that is equal for equal cells of one column only: the key of a row in a map. */
export function keyOfCell(cell: Cell | undefined): string {
  return cell instanceof Uint8Array ? keyOfBytes(cell) : String(cell)
}
