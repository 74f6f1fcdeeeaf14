/** Seals and opens single entries of the catalog. Each entry is bound to its row. */
import type { KeyRing } from '../ports/keys.ts'
import { slabItem, toSlab } from '../util/slab.ts'
import { writeAssociatedData } from './associated-data.ts'
import { HEADER_BYTES, readVersion, writeHeader } from './envelope.ts'

/** Purpose of the key that seals the catalog. */
const PURPOSE = 'catalog'
/** Object id of the catalog in associated data. No table of a schema has it. */
const OBJECT_ID = 0

/** Returns the sealed bytes of the entry of row `id`. `vault` is the 16-byte digest of the vault id. */
export function sealEntry(ring: KeyRing, vault: Uint8Array, id: number, plaintext: Uint8Array): Uint8Array {
  const version = ring.activeVersion
  const associatedData = writeAssociatedData({ vault, objectId: OBJECT_ID }, [id], () => version)
  return slabItem(ring.seal(PURPOSE, writeHeader(version), toSlab([plaintext]), associatedData), 0)
}

/** Returns the plaintext of an entry; undefined if it fails authentication. */
export function openEntry(ring: KeyRing, vault: Uint8Array, id: number, sealed: Uint8Array): Uint8Array | undefined {
  const version = readVersion(sealed, 0, sealed.length)
  const associatedData = writeAssociatedData({ vault, objectId: OBJECT_ID }, [id], () => version)
  const { plaintexts, opened } = ring.open(PURPOSE, HEADER_BYTES, Uint16Array.of(version), toSlab([sealed]), associatedData)
  return opened[0] === 1 ? slabItem(plaintexts, 0) : undefined
}
