/** Opens sealed bodies. One importer: barrier/reveal.ts. */
import type { KeyRing, Opened } from '../ports/keys.ts'
import type { Slab } from '../util/slab.ts'
import { slabStart } from '../util/slab.ts'
import type { Address } from './context.ts'
import { writeContexts } from './context.ts'
import { HEADER_BYTES, readVersion } from './envelope.ts'
import { RECORD } from './seal.ts'

/** The plaintext of each body that stands where it was sealed; the others are marked, and hurt none of their siblings. */
export function openBodies(ring: KeyRing, address: Address, ids: readonly number[], bodies: Slab): Opened {
  const versions = new Uint16Array(bodies.count)
  for (let i = 0; i < bodies.count; i++) versions[i] = readVersion(bodies.bytes, slabStart(bodies, i), bodies.ends[i] ?? 0)
  const contexts = writeContexts(address, ids, (index) => versions[index] ?? 0)
  return ring.open(RECORD, HEADER_BYTES, versions, bodies, contexts)
}
