/** Digests of values and the cells of look-ups, by which equal values are found without opening a body. */
import { VaultError } from '../errors.ts'
import { DIGEST_BYTES, type KeyRing } from '../ports/crypto.ts'
import type { Cell } from '../ports/storage.ts'
import type { Column } from '../schema/column-layout.ts'
import { toDigestUuid } from '../sealing/envelope.ts'
import { ByteWriter, keyOfBytes, sameBytes } from '../util/bytes.ts'
import { required } from '../util/lists.ts'
import { fewNumbers, plaintextBytes, type Slab } from '../util/memory.ts'
import { normalize } from '../values/normalizers.ts'

/** Returns the stored digest of each value, in order, by default of the newest root key. No value is null. Throws `internal` if the key ring returns too few bytes. */
export function digestValues(
  ring: KeyRing,
  column: Column,
  values: readonly unknown[],
  version = digestVersion(ring),
): Uint8Array[] {
  const out = new ByteWriter(values.length * 32, plaintextBytes)
  const ends = fewNumbers(values.length)
  for (let i = 0; i < values.length; i++) {
    writeCanonical(column, values[i], out)
    ends[i] = out.length
  }
  const items = { bytes: out.written(), ends, count: values.length }
  const digests = digestItems(ring, column.scope, items, version)
  const stored: Uint8Array[] = new Array(values.length)
  const isToken = column.token?.isDeterministic === true
  for (let i = 0; i < values.length; i++) {
    const start = i * DIGEST_BYTES
    const digest = digests.subarray(start, start + column.digestLength)
    stored[i] = isToken ? toDigestUuid(digest) : digest
  }
  return stored
}

/** The version of the root key of new digests. */
export function digestVersion({ lookupVersions, lookupVersion }: KeyRing): number {
  return lookupVersions[0] ?? lookupVersion
}

/** The version of the root key whose digests give way to newer ones, while look-up keys are rotated. */
export function replacedVersion({ lookupVersions: [newest = 0, other = 0] }: KeyRing): number | undefined {
  return other > 0 && other < newest ? other : undefined
}

/** Returns DIGEST_BYTES for each item, in order, by default of the newest root key. Throws `internal` if the key ring returns a wrong number. */
export function digestItems(ring: KeyRing, scope: string, items: Slab, version = digestVersion(ring)): Uint8Array {
  const digests = ring.digest(version, scope, items)
  if (digests.length === items.count * DIGEST_BYTES) return digests
  throw new VaultError('internal', 'The key ring returned digests of a wrong length. This is a defect; please report it.')
}

/** Returns the stored digest of each value, in order; undefined for null. */
export function digestPresent(
  ring: KeyRing,
  column: Column,
  values: readonly unknown[],
  version?: number,
): (Uint8Array | undefined)[] {
  const present = values.filter((value) => value !== null)
  const digests = digestValues(ring, column, present, version)
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

/** Returns the cell of `column.lookup` for each value, in order: a digest, by default of the newest root key, or the plain cell. No value is null. */
export function lookupCells(ring: KeyRing, column: Column, values: readonly unknown[], version?: number): Exclude<Cell, null>[] {
  if (column.lookup !== column.digest) return values.map((value) => column.type.toCell(value))
  return digestValues(ring, column, values, version)
}

/** Returns the digest of the older root key for each value, in order, which rows can still have while look-up keys are rotated; nothing at other times. */
export function olderDigests(ring: KeyRing, column: Column, values: readonly unknown[]): readonly Uint8Array[] {
  const older = ring.lookupVersions[1]
  return older === undefined ? NONE : digestValues(ring, column, values, older)
}

/** The same as cells of `column.lookup`: nothing for a column that is looked up by plain cells. */
export function olderCells(ring: KeyRing, column: Column, values: readonly unknown[]): readonly Uint8Array[] {
  return column.lookup === column.digest ? olderDigests(ring, column, values) : NONE
}

const NONE: readonly Uint8Array[] = []

/** Returns every cell of `column.lookup` that rows with one of these values can have. */
export function allLookupCells(ring: KeyRing, column: Column, values: readonly unknown[]): Exclude<Cell, null>[] {
  const cells = lookupCells(ring, column, values)
  for (const digest of olderCells(ring, column, values)) cells.push(digest)
  return cells
}

/** Returns text that is equal for equal cells of one column only: the key of a row in a map. */
export function keyOfCell(cell: Cell | undefined): string {
  return cell instanceof Uint8Array ? keyOfBytes(cell) : String(cell)
}
