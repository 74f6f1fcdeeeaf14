/** Seals and opens entries of the catalog, of files, of credentials, of tickets and of the audit trail. Each is bound to its kind and its row. */
import { AAD_BYTES, type KeyRing, type Opened } from '../ports/crypto.ts'
import { required } from '../util/lists.ts'
import { type Slab, slabItem, toSlab } from '../util/memory.ts'
import { HEADER_BYTES, readVersions, writeAddress, writeAssociatedData, writeHeader } from './envelope.ts'

/**
 * The purpose of the key of each kind, and its object id in associated data. The object ids are above the 16 bits of tables, or 0, which no
 * table has: an event never opens as a head, and neither as a record.
 */
const KINDS = {
  schema: { purpose: 'catalog', objectId: 0 },
  event: { purpose: 'audit', objectId: 0x1_0000 },
  head: { purpose: 'audit', objectId: 0x1_0001 },
  marker: { purpose: 'catalog', objectId: 0x1_0002 },
  file: { purpose: 'file-entry', objectId: 0x1_0003 },
  ticket: { purpose: 'ticket', objectId: 0x1_0004 },
  credential: { purpose: 'credential', objectId: 0x1_0005 },
} as const

/** The kind of an entry of the audit trail. */
export type AuditEntryKind = 'event' | 'head'

/** The keys, the vault and the kind of a list of entries. `vault` is the 16-byte digest of the vault id. */
export interface EntriesAddress {
  readonly ring: KeyRing
  readonly vault: Uint8Array
  readonly kind: keyof typeof KINDS
}

/** The keys, the vault, the kind and the row of one entry. */
export interface EntryAddress extends EntriesAddress {
  /** The row id. Tickets have no row, and 0 here. */
  readonly id: number
}

/** Returns the sealed bytes of an entry. */
export function sealEntry(address: EntryAddress, plaintext: Uint8Array): Uint8Array {
  return slabItem(sealEntries(address, [address.id], [plaintext]), 0)
}

/** Returns the plaintext of an entry; undefined if it fails authentication. */
export function openEntry(address: EntryAddress, sealed: Uint8Array): Uint8Array | undefined {
  const { plaintexts, opened } = openEntries(address, [address.id], [sealed])
  return opened[0] === 1 ? slabItem(plaintexts, 0) : undefined
}

/** Returns one sealed entry for each plaintext, in order, bound to the row id at the same index of `ids`. */
export function sealEntries(
  { ring, vault, kind }: EntriesAddress,
  ids: readonly number[],
  plaintexts: readonly Uint8Array[],
): Slab {
  const { purpose, objectId } = KINDS[kind]
  const version = ring.activeVersion
  const associatedData = writeAssociatedData({ vault, objectId }, ids, () => version)
  return ring.seal(purpose, writeHeader(version), toSlab(plaintexts), associatedData)
}

/** Returns the plaintext of each entry, in order. An entry that was changed or moved does not open; the others do. */
export function openEntries(
  { ring, vault, kind }: EntriesAddress,
  ids: readonly number[],
  sealed: readonly Uint8Array[],
): Opened {
  const { purpose, objectId } = KINDS[kind]
  const bodies = toSlab(sealed)
  const versions = readVersions(bodies)
  const associatedData = writeAssociatedData({ vault, objectId }, ids, (index) => required(versions[index]))
  return ring.open(purpose, HEADER_BYTES, versions, bodies, associatedData)
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
export function sealAppended({ ring, vault }: Omit<EntriesAddress, 'kind'>, { chain, ids, plaintexts }: AppendedEntries): Slab {
  const version = ring.activeVersion
  const associatedData = new Uint8Array((ids.length + 1) * AAD_BYTES)
  for (let i = 0; i < ids.length; i++) {
    writeAddress(associatedData, i, { vault, objectId: KINDS.event.objectId, id: required(ids[i]), version })
  }
  writeAddress(associatedData, ids.length, { vault, objectId: KINDS.head.objectId, id: chain, version })
  return ring.seal(KINDS.event.purpose, writeHeader(version), plaintexts, associatedData)
}
