/** Seals and opens entries of the audit trail, lists of them, each to its own row. */
import type { KeyRing, Opened } from '../ports/keys.ts'
import type { Slab } from '../util/slab.ts'
import { slabStart, toSlab } from '../util/slab.ts'
import { writeContexts } from './context.ts'
import { HEADER_BYTES, readVersion, writeHeader } from './envelope.ts'

/** Purpose of the keys that seal the audit trail. */
const PURPOSE = 'audit'

/** Spaces of the audit trail in contexts, past the 16 bits that tables have: an event never opens as a head, nor either as a record. */
export const AUDIT_SPACES = { event: 0x1_0000, head: 0x1_0001 } as const

/** Which of the two an entry is. */
export type AuditSpace = keyof typeof AUDIT_SPACES

/** Whose trail it is, and which part of it. `vault` is the 16-byte digest of the vault's id. */
export interface AuditAddress {
  readonly ring: KeyRing
  readonly vault: Uint8Array
  readonly space: AuditSpace
}

/** One sealed entry for each plaintext, bound to the row of the same place in `ids`. */
export function sealEntries(
  { ring, vault, space }: AuditAddress,
  ids: readonly number[],
  plaintexts: readonly Uint8Array[],
): Slab {
  const version = ring.newestVersion
  const contexts = writeContexts({ vault, space: AUDIT_SPACES[space] }, ids, () => version)
  return ring.seal(PURPOSE, writeHeader(version), toSlab(plaintexts), contexts)
}

/** The plaintext of each entry that stands where it was sealed; the others are marked. */
export function openEntries({ ring, vault, space }: AuditAddress, ids: readonly number[], sealed: readonly Uint8Array[]): Opened {
  const bodies = toSlab(sealed)
  const versions = new Uint16Array(bodies.count)
  for (let i = 0; i < bodies.count; i++) versions[i] = readVersion(bodies.bytes, slabStart(bodies, i), bodies.ends[i] ?? 0)
  const contexts = writeContexts({ vault, space: AUDIT_SPACES[space] }, ids, (index) => versions[index] ?? 0)
  return ring.open(PURPOSE, HEADER_BYTES, versions, bodies, contexts)
}
