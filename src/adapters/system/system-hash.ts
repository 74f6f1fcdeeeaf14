/** SHA-256 of the platform. */
import { hash } from 'node:crypto'
import type { Hash } from '../../core/ports/hash.ts'
import { HASH_BYTES } from '../../core/ports/hash.ts'
import { slabItem } from '../../core/util/slab.ts'

/** The default hash. */
export const systemHash: Hash = {
  sha256(inputs) {
    const hashes = new Uint8Array(inputs.count * HASH_BYTES)
    for (let i = 0; i < inputs.count; i++) hashes.set(hash('sha256', slabItem(inputs, i), 'buffer'), i * HASH_BYTES)
    return hashes
  },
}
