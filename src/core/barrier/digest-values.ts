/** Digests of values: what equality is looked up by, without opening anything. */
import type { KeyRing } from '../ports/keys.ts'
import { DIGEST_BYTES } from '../ports/keys.ts'
import type { Column } from '../schema/layout.ts'
import { ByteWriter, sameBytes } from '../util/bytes.ts'
import { normalise } from '../values/normalisers.ts'

/** Stored bytes of a digest. */
export const STORED_DIGEST_BYTES = DIGEST_BYTES

/** The stored digest of each value, in order; none of them is null. */
export function digestValues(ring: KeyRing, column: Column, values: readonly unknown[]): Uint8Array[] {
  const out = new ByteWriter(values.length * 32)
  const ends = new Uint32Array(values.length)
  for (let i = 0; i < values.length; i++) {
    writeCanonical(column, values[i], out)
    ends[i] = out.length
  }
  const digests = ring.digest(column.scope, { bytes: out.written(), ends, count: values.length })
  const stored: Uint8Array[] = new Array(values.length)
  for (let i = 0; i < values.length; i++) stored[i] = digests.subarray(i * DIGEST_BYTES, i * DIGEST_BYTES + STORED_DIGEST_BYTES)
  return stored
}

/** True when two values of a column are one and the same to uniqueness and look-up. */
export function isSameValue(column: Column, left: unknown, right: unknown): boolean {
  const [one, other] = [new ByteWriter(64), new ByteWriter(64)]
  writeCanonical(column, left, one)
  writeCanonical(column, right, other)
  return sameBytes(one.written(), other.written())
}

/** The bytes that equal values share: the type's tag, then the canonical form of the normalised value. */
function writeCanonical(column: Column, value: unknown, out: ByteWriter): void {
  out.u8(column.type.tag)
  const compared = column.normalise.length > 0 && typeof value === 'string' ? normalise(column.normalise, value) : value
  column.type.canonical(compared, out)
}
