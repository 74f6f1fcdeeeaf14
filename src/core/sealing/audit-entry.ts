/** Seals and opens lists of entries of the audit trail. Each entry is bound to its row. */
import { AAD_BYTES, type KeyRing, type Opened } from '../ports/crypto.ts'
import { required } from '../util/lists.ts'
import { type Slab, slabStart, toSlab } from '../util/memory.ts'
import { writeAddress, writeAssociatedData } from './associated-data.ts'
import { HEADER_BYTES, readVersion, writeHeader } from './envelope.ts'

/** Purpose of the keys that seal the audit trail. */
const PURPOSE = 'audit'

/** Object ids of the audit trail in associated data, above the 16 bits of tables. An event never opens as a head, and neither as a record. */
export const AUDIT_OBJECT_IDS = { event: 0x1_0000, head: 0x1_0001 } as const

/** The kind of an entry. */
export type AuditEntryKind = keyof typeof AUDIT_OBJECT_IDS

/** The keys, the vault and the kind of a list of entries. `vault` is the 16-byte digest of the vault id. */
export interface AuditAddress {
  readonly ring: KeyRing
  readonly vault: Uint8Array
  readonly kind: AuditEntryKind
}

/** Returns one sealed entry for each plaintext, in order, bound to the row id at the same index of `ids`. */
export function sealEntries(
  { ring, vault, kind }: AuditAddress,
  ids: readonly number[],
  plaintexts: readonly Uint8Array[],
): Slab {
  const version = ring.activeVersion
  const associatedData = writeAssociatedData({ vault, objectId: AUDIT_OBJECT_IDS[kind] }, ids, () => version)
  return ring.seal(PURPOSE, writeHeader(version), toSlab(plaintexts), associatedData)
}

/** New events of a chain, and its head after them. */
export interface AppendedEntries {
  readonly chain: number
  /** Row ids of the events. */
  readonly ids: readonly number[]
  /** The plaintexts of the events, in order, and then that of the head. */
  readonly plaintexts: Slab
}

/** Returns the sealed events, in order, and then the sealed head: one call for all, because a call costs as much as an event. */
export function sealAppended({ ring, vault }: Omit<AuditAddress, 'kind'>, { chain, ids, plaintexts }: AppendedEntries): Slab {
  const version = ring.activeVersion
  const associatedData = new Uint8Array((ids.length + 1) * AAD_BYTES)
  for (let i = 0; i < ids.length; i++) {
    writeAddress(associatedData, i, { vault, objectId: AUDIT_OBJECT_IDS.event, id: required(ids[i]), version })
  }
  writeAddress(associatedData, ids.length, { vault, objectId: AUDIT_OBJECT_IDS.head, id: chain, version })
  return ring.seal(PURPOSE, writeHeader(version), plaintexts, associatedData)
}

/** Returns the plaintext of each entry, in order. An entry that was changed or moved does not open; the others do. */
export function openEntries({ ring, vault, kind }: AuditAddress, ids: readonly number[], sealed: readonly Uint8Array[]): Opened {
  const bodies = toSlab(sealed)
  const versions = new Uint16Array(bodies.count)
  for (let i = 0; i < bodies.count; i++) versions[i] = readVersion(bodies.bytes, slabStart(bodies, i), required(bodies.ends[i]))
  const associatedData = writeAssociatedData({ vault, objectId: AUDIT_OBJECT_IDS[kind] }, ids, (index) =>
    required(versions[index]),
  )
  return ring.open(PURPOSE, HEADER_BYTES, versions, bodies, associatedData)
}
