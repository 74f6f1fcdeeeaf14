/** Seals and opens single entries of the catalog, each to its own row. */
import type { KeyRing } from '../ports/keys.ts'
import { slabItem, toSlab } from '../util/slab.ts'
import { writeContexts } from './context.ts'
import { HEADER_BYTES, readVersion, writeHeader } from './envelope.ts'

/** Purpose of the key that seals the catalog. */
const PURPOSE = 'catalog'
/** Space of the catalog in contexts: no table of a schema has it. */
const SPACE = 0

/** The sealed bytes of an entry that stands in row `id`. */
export function sealEntry(ring: KeyRing, vault: Uint8Array, id: number, plaintext: Uint8Array): Uint8Array {
  const version = ring.newestVersion
  const contexts = writeContexts({ vault, space: SPACE }, [id], () => version)
  return slabItem(ring.seal(PURPOSE, writeHeader(version), toSlab([plaintext]), contexts), 0)
}

/** What was sealed; undefined where it does not open. */
export function openEntry(ring: KeyRing, vault: Uint8Array, id: number, sealed: Uint8Array): Uint8Array | undefined {
  const version = readVersion(sealed, 0, sealed.length)
  const contexts = writeContexts({ vault, space: SPACE }, [id], () => version)
  const { plaintexts, opened } = ring.open(PURPOSE, HEADER_BYTES, Uint16Array.of(version), toSlab([sealed]), contexts)
  return opened[0] === 1 ? slabItem(plaintexts, 0) : undefined
}
