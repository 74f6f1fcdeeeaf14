/** AES-256 over whole blocks: the one primitive of everything keyed here. */
import { createCipheriv } from 'node:crypto'
import { at } from '../../core/util/lists.ts'
import { secretBytes, wipe } from './secret-bytes.ts'
import { getWasm, REGION } from './wasm.ts'

const BLOCK = 16

/** Encrypts each 16-byte block of its input by itself. One cipher object serves all calls, because creating one is slow. */
export interface BlockCipher {
  update(blocks: Uint8Array): Uint8Array
  /** Wipes the key inside the platform's cipher. Later calls of `update` throw. */
  close(): void
}

/** Returns a block cipher for a key of 32 bytes. */
export function createBlockCipher(key: Uint8Array): BlockCipher {
  const cipher = createCipheriv('aes-256-ecb', key, null)
  cipher.setAutoPadding(false)
  return {
    update: (blocks) => cipher.update(blocks),
    // The end of the stream frees the context of OpenSSL, which overwrites its round keys.
    close: () => void cipher.final(),
  }
}

/**
 * Number of blocks up to which the module is not slower than one call of the platform's cipher, which takes as long for one as for many: making and
 * freeing the memory of what it returns is most of it. Both take as long for 31 on an idle machine, and for some 20 to 25 on a busy one.
 */
export const MODULE_BLOCKS = 25

/** Encrypts each 16-byte block of its input by itself, in place: a few in the module, more with the platform's cipher. */
export interface InPlaceCipher {
  encrypt(blocks: Uint8Array): void
  /** Wipes the key. Later calls throw. */
  close(): void
}

/** Returns a cipher for a key of 32 bytes, which are not kept. */
export function createInPlaceCipher(key: Uint8Array): InPlaceCipher {
  const cipher = createBlockCipher(key)
  const schedule = expandKey(key)
  let isClosed = false
  return {
    encrypt(blocks) {
      if (blocks.length <= MODULE_BLOCKS * BLOCK && !isClosed) encryptFew(schedule, blocks)
      else {
        const encrypted = cipher.update(blocks)
        blocks.set(encrypted)
        wipe(encrypted)
      }
    },
    close() {
      isClosed = true
      cipher.close()
      wipe(schedule)
    },
  }
}

/** Encrypts blocks in place in the module, with the round keys of `expandKey`. */
export function encryptFew(schedule: Uint8Array, blocks: Uint8Array): void {
  const { calls, memory } = getWasm()
  memory.set(schedule, REGION.schedule)
  memory.set(blocks, REGION.blocks)
  calls.encryptBlocks(REGION.schedule, REGION.blocks, blocks.length / BLOCK)
  memory.copy(blocks, 0, REGION.blocks, REGION.blocks + blocks.length)
  calls.wipe(REGION.schedule, schedule.length)
  calls.wipe(REGION.blocks, blocks.length)
}

/** Length of the round keys of AES-256 in the format of the module, in bytes. */
export const SCHEDULE_BYTES = 240

/**
 * Returns the round keys of a key of 32 bytes, for AES inside the module. They are as secret as the key. The process holds them in
 * memory, as OpenSSL does; the memory of the module holds them only during a call.
 */
export function expandKey(key: Uint8Array): Uint8Array {
  const { calls, memory } = getWasm()
  const schedule = secretBytes(SCHEDULE_BYTES)
  memory.set(key, REGION.input)
  calls.expandKey(REGION.input, REGION.schedule)
  schedule.set(memory.subarray(REGION.schedule, REGION.schedule + SCHEDULE_BYTES))
  calls.wipe(REGION.input, key.length)
  calls.wipe(REGION.schedule, SCHEDULE_BYTES)
  return schedule
}

/** Returns a block of 16 bytes doubled in GF(2^128), which gives the subkeys of CMAC. Source: SP 800-38B, section 6.1. */
export function doubleBlock(block: Uint8Array): Uint8Array {
  const doubled = secretBytes(16)
  const carry = at(block, 0) >> 7
  for (let i = 0; i < 15; i++) doubled[i] = (at(block, i) << 1) | (at(block, i + 1) >> 7)
  doubled[15] = (at(block, 15) << 1) ^ (carry * 0x87)
  return doubled
}
