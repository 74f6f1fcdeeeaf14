/** Law: the batched AES-256-CMAC, and the platform's, give the digests of an independent implementation. */
import { cmac } from '@noble/ciphers/aes.js'
import { slabItem, toSlab } from '../../src/core/util/memory.ts'
import { IMPLEMENTATIONS } from '../adapters/keys/implementations.ts'
import type { Law } from './law.ts'

/** Inputs of a list have at most this number of bytes; each list takes one of these in turn. */
const MAX_LENGTHS = [20, 70, 300] as const
const MAX_COUNT = 100
const DIGEST = 16

export const batchedDigests: Law = {
  name: 'batched-digests',
  statement: 'Digests of random lists, and of single inputs, equal those of an independent implementation of CMAC',
  unit: 'inputs',
  figures: { test: 2_000, soak: 1_000_000 },
  weight: 1,
  open: () => ({
    check({ number, random }) {
      const key = random.bytes(32)
      const longest = MAX_LENGTHS[number % MAX_LENGTHS.length] ?? 0
      const count = number % 10 === 0 ? 1 : 1 + random.below(MAX_COUNT)
      const inputs = toSlab(Array.from({ length: count }, () => random.bytes(random.below(longest + 1))))
      const both = IMPLEMENTATIONS.map(({ name, createCmac }) => {
        const mac = createCmac(key)
        const digests = mac.digest(inputs)
        mac.close()
        return { name, digests }
      })
      for (let i = 0; i < count; i++) {
        const input = slabItem(inputs, i)
        const expected = Buffer.from(cmac(input, key))
        for (const { name, digests } of both) {
          if (!expected.equals(digests.subarray(i * DIGEST, (i + 1) * DIGEST)))
            throw new Error(`input ${i} of ${input.length} bytes has another digest by ${name}`)
        }
      }
      return count
    },
  }),
}
