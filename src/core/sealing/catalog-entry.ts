/** Seals and opens single entries of the catalog. Each entry is bound to its row. */
import type { KeyRing } from '../ports/keys.ts'
import { slabItem, toSlab } from '../util/slab.ts'
import { writeAssociatedData } from './associated-data.ts'
import { HEADER_BYTES, readVersion, writeHeader } from './envelope.ts'

/** Purpose of the key that seals the catalog. */
const PURPOSE = 'catalog'
/** Object ids of the catalog in associated data. No table of a schema has one, and neither has the audit trail. */
const OBJECT_IDS = { schema: 0, marker: 0x1_0002 } as const

/** The keys, the vault, and the row of an entry. `vault` is the 16-byte digest of the vault id. */
export interface EntryAddress {
  readonly ring: KeyRing
  readonly vault: Uint8Array
  readonly kind: keyof typeof OBJECT_IDS
  /** The row id. */
  readonly id: number
}

/** Returns the sealed bytes of an entry. */
export function sealEntry({ ring, vault, kind, id }: EntryAddress, plaintext: Uint8Array): Uint8Array {
  const version = ring.activeVersion
  const associatedData = writeAssociatedData({ vault, objectId: OBJECT_IDS[kind] }, [id], () => version)
  return slabItem(ring.seal(PURPOSE, writeHeader(version), toSlab([plaintext]), associatedData), 0)
}

/** Returns the plaintext of an entry; undefined if it fails authentication. */
export function openEntry({ ring, vault, kind, id }: EntryAddress, sealed: Uint8Array): Uint8Array | undefined {
  const version = readVersion(sealed, 0, sealed.length)
  const associatedData = writeAssociatedData({ vault, objectId: OBJECT_IDS[kind] }, [id], () => version)
  const { plaintexts, opened } = ring.open(PURPOSE, HEADER_BYTES, Uint16Array.of(version), toSlab([sealed]), associatedData)
  return opened[0] === 1 ? slabItem(plaintexts, 0) : undefined
}
