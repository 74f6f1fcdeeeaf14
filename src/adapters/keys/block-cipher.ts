/** AES-256 over whole blocks: the one primitive that everything keyed here stands on. */

import { createCipheriv } from 'node:crypto'
import { at } from '../../core/util/at.ts'
import { getWasm, REGION } from './wasm.ts'

/** Encrypts each 16-byte block of its input by itself. One live cipher serves every call: a call costs half a microsecond. */
export interface BlockCipher {
  update(blocks: Uint8Array): Buffer
}

/** A block cipher under a 32-byte key. */
export function createBlockCipher(key: Uint8Array): BlockCipher {
  const cipher = createCipheriv('aes-256-ecb', key, null)
  cipher.setAutoPadding(false)
  return cipher
}

/** Bytes of the round keys of AES-256 as the module wants them. */
export const SCHEDULE_BYTES = 240

/**
 * The round keys of a 32-byte key for AES inside the module. As secret as the key: they lie in this process's memory as long as
 * their user does, as OpenSSL's own lie on its heap, and in the module's only while a call runs.
 */
export function expandKey(key: Uint8Array): Buffer {
  const { calls, memory } = getWasm()
  memory.set(key, REGION.input)
  calls.expandKey(REGION.input, REGION.schedule)
  const schedule = Buffer.from(memory.subarray(REGION.schedule, REGION.schedule + SCHEDULE_BYTES))
  calls.wipe(REGION.input, key.length)
  calls.wipe(REGION.schedule, SCHEDULE_BYTES)
  return schedule
}

/** Doubling in GF(2^128), SP 800-38B section 6.1: how the subkeys of CMAC come from AES(0). */
export function doubleBlock(block: Uint8Array): Uint8Array {
  const doubled = new Uint8Array(16)
  const carry = at(block, 0) >> 7
  for (let i = 0; i < 16; i++) doubled[i] = (at(block, i) << 1) | ((block[i + 1] ?? 0) >> 7)
  doubled[15] = at(doubled, 15) ^ (carry * 0x87)
  return doubled
}
