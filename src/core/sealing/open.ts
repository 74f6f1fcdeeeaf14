/** Opens sealed bodies. Only barrier/reveal.ts imports this file. */
import type { KeyRing, Opened } from '../ports/crypto.ts'
import { required } from '../util/lists.ts'
import { freeBytes, type Slab, slabStart } from '../util/memory.ts'
import { type Address, formatOf, HEADER_BYTES, RECORD_PURPOSE, readVersions, writeAssociatedData } from './envelope.ts'
import { openSubjectBodies, subjectKeysOf } from './subject-bodies.ts'
import type { SubjectKeyring } from './subject-keyring.ts'

/**
 * Returns the plaintext of each body, in order. A body that was changed, or moved to another row, does not open; the others do.
 * `ids` has the row id of each body. Those of subjects open with a key that `keyring` holds.
 */
export function openBodies(
  ring: KeyRing,
  address: Address,
  ids: readonly number[],
  bodies: Slab,
  keyring?: SubjectKeyring,
): Opened {
  const versions = readVersions(bodies)
  const keys = keyring !== undefined && versions.includes(0) ? subjectKeysOf(bodies) : undefined
  if (keyring === undefined || keys === undefined) return openOfVault(ring, address, ids, bodies, versions)
  return openSubjectBodies({ keyring, keys }, address, ids, bodies, (rows, others) =>
    openOfVault(ring, address, rows, others, readVersions(others)),
  )
}

function openOfVault(ring: KeyRing, address: Address, ids: readonly number[], bodies: Slab, versions: Uint16Array): Opened {
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
