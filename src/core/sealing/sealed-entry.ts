/** Seals and opens single entries: of the catalog, of files, of credentials, and of tickets. Each entry is bound to its kind and its row. */
import type { KeyRing } from '../ports/crypto.ts'
import { slabItem, toSlab } from '../util/memory.ts'
import { writeAssociatedData } from './associated-data.ts'
import { HEADER_BYTES, readVersion, writeHeader } from './envelope.ts'

/** The purpose of the key of each kind, and its object id in associated data. No table of a schema has one, and neither has the audit trail. */
const KINDS = {
  schema: { purpose: 'catalog', objectId: 0 },
  marker: { purpose: 'catalog', objectId: 0x1_0002 },
  file: { purpose: 'file-entry', objectId: 0x1_0003 },
  ticket: { purpose: 'ticket', objectId: 0x1_0004 },
  credential: { purpose: 'credential', objectId: 0x1_0005 },
} as const

/** The keys, the vault, and the row of an entry. `vault` is the 16-byte digest of the vault id. */
export interface EntryAddress {
  readonly ring: KeyRing
  readonly vault: Uint8Array
  readonly kind: keyof typeof KINDS
  /** The row id. Tickets have no row, and 0 here. */
  readonly id: number
}

/** Returns the sealed bytes of an entry. */
export function sealEntry({ ring, vault, kind, id }: EntryAddress, plaintext: Uint8Array): Uint8Array {
  const { purpose, objectId } = KINDS[kind]
  const version = ring.activeVersion
  const associatedData = writeAssociatedData({ vault, objectId }, [id], () => version)
  return slabItem(ring.seal(purpose, writeHeader(version), toSlab([plaintext]), associatedData), 0)
}

/** Returns the plaintext of an entry; undefined if it fails authentication. */
export function openEntry({ ring, vault, kind, id }: EntryAddress, sealed: Uint8Array): Uint8Array | undefined {
  const { purpose, objectId } = KINDS[kind]
  const version = readVersion(sealed, 0, sealed.length)
  const associatedData = writeAssociatedData({ vault, objectId }, [id], () => version)
  const { plaintexts, opened } = ring.open(purpose, HEADER_BYTES, Uint16Array.of(version), toSlab([sealed]), associatedData)
  return opened[0] === 1 ? slabItem(plaintexts, 0) : undefined
}
