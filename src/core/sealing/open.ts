/** Opens sealed bodies. Only barrier/reveal.ts imports this file. */
import type { KeyRing, Opened } from '../ports/crypto.ts'
import { required } from '../util/lists.ts'
import { freeBytes, type Slab, slabStart } from '../util/memory.ts'
import { type Address, formatOf, HEADER_BYTES, RECORD_PURPOSE, readVersions, writeAssociatedData } from './envelope.ts'

/**
 * Returns the plaintext of each body, in order. A body that was changed, or moved to another row, does not open; the others do.
 * `ids` has the row id of each body.
 */
export function openBodies(ring: KeyRing, address: Address, ids: readonly number[], bodies: Slab): Opened {
  const versions = readVersions(bodies)
  const associatedData = writeAssociatedData(
    address,
    ids,
    (index) => required(versions[index]),
    (index) => formatOf(bodies.bytes[slabStart(bodies, index)] ?? 0),
  )
  const opened = ring.open(RECORD_PURPOSE, HEADER_BYTES, versions, bodies, associatedData)
  freeBytes(associatedData)
  return opened
}
