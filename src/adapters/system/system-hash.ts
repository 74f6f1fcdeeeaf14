/** SHA-256 of the platform. */
import { hash } from 'node:crypto'
import type { Hash } from '../../core/ports/hash.ts'
import { HASH_BYTES } from '../../core/ports/hash.ts'
import { slabItem } from '../../core/util/slab.ts'

/** The default hash. */
export const systemHash: Hash = {
  sha256(inputs) {
    const hashes = new Uint8Array(inputs.count * HASH_BYTES)
    for (let i = 0; i < inputs.count; i++) {
      // As text of one unit for each byte: a buffer for each hash takes as long as the hash of a short input.
      const text = hash('sha256', slabItem(inputs, i), 'binary')
      for (let at = 0; at < HASH_BYTES; at++) hashes[i * HASH_BYTES + at] = text.charCodeAt(at)
    }
    return hashes
  },
}
