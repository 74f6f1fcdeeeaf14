/** Seals a list of bodies. Each body is bound to its row. */
import type { KeyRing } from '../ports/crypto.ts'
import { required } from '../util/lists.ts'
import type { Slab } from '../util/memory.ts'
import { type Address, writeAssociatedData } from './associated-data.ts'
import { formatOf, writeBodyHeader } from './envelope.ts'

/** Purpose of the keys that seal records. */
export const RECORD_PURPOSE = 'record'

/** Returns one sealed body for each plaintext, in order, bound to the row id at the same index of `ids`. */
export function sealBodies(ring: KeyRing, address: Address, ids: readonly number[], plaintexts: Slab): Slab {
  const version = ring.activeVersion
  const header = writeBodyHeader(version)
  const format = formatOf(required(header[0]))
  const associatedData = writeAssociatedData(
    address,
    ids,
    () => version,
    () => format,
  )
  return ring.seal(RECORD_PURPOSE, header, plaintexts, associatedData)
}
