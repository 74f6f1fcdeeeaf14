/** Digests of values: what equality is looked up by, without opening anything. */
import type { KeyRing } from '../ports/keys.ts'
import { DIGEST_BYTES } from '../ports/keys.ts'
import type { Column } from '../schema/layout.ts'
import { toDigestUuid } from '../sealing/digest-uuid.ts'
import { ByteWriter, sameBytes } from '../util/bytes.ts'
import { normalize } from '../values/normalizers.ts'

/** Bytes stored of a digest that is no token as well: enough that no two values ever meet, and a smaller index. See docs/decisions/0006. */
const SHORT_DIGEST_BYTES = 12

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
  const isToken = column.token?.isDeterministic === true
  for (let i = 0; i < values.length; i++) {
    const at = i * DIGEST_BYTES
    stored[i] = isToken ? toDigestUuid(digests.subarray(at, at + DIGEST_BYTES)) : digests.subarray(at, at + SHORT_DIGEST_BYTES)
  }
  return stored
}

/** The same for values some of which are null: those have none. */
export function digestPresent(ring: KeyRing, column: Column, values: readonly unknown[]): (Uint8Array | undefined)[] {
  const digests = digestValues(
    ring,
    column,
    values.filter((value) => value !== null),
  )
  let next = 0
  return values.map((value) => (value === null ? undefined : digests[next++]))
}

/** True when two values of a column are one and the same to uniqueness and look-up. */
export function isSameValue(column: Column, left: unknown, right: unknown): boolean {
  const [one, other] = [new ByteWriter(64), new ByteWriter(64)]
  writeCanonical(column, left, one)
  writeCanonical(column, right, other)
  return sameBytes(one.written(), other.written())
}

/** The text that equal values share, whatever their spelling: what derived tokens are told from. */
export function comparedText(column: Column, value: unknown): string {
  return normalize(column.normalize, column.type.toText(value)).normalize('NFC')
}

/** The bytes that equal values share: the type's tag, then the canonical form of the normalized value. */
function writeCanonical(column: Column, value: unknown, out: ByteWriter): void {
  out.u8(column.type.tag)
  const compared = column.normalize.length > 0 && typeof value === 'string' ? normalize(column.normalize, value) : value
  column.type.canonical(compared, out)
}
