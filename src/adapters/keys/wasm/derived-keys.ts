/** Derives the keys of XAES-256-GCM in the module, with what it needs to use them. */
import { at } from '../../../core/util/lists.ts'
import { secretBytes, wipe } from '../key-bytes.ts'
import { doubleBlock } from '../platform/aes.ts'
import { createXaesKey, type GcmKey, HALF_BYTES, type KeyDerivation, SECRET_BYTES, type XaesKey } from '../xaes-key.ts'
import { DERIVED_KEY_BYTES, encryptFew, expandKey, getWasm, REGION, SCHEDULE_BYTES } from './wasm.ts'

const BLOCK = 16
/** The parts of a derived key, one after the other, as the module computes them. */
const SCHEDULE_AT = SECRET_BYTES
const HASH_KEY_AT = SCHEDULE_AT + SCHEDULE_BYTES
const TABLES_AT = HASH_KEY_AT + BLOCK

/** Returns an XAES-256-GCM key from 32 bytes, which are not kept. Source of `maxDerived`: `createXaesKey`. */
export function createModuleXaesKey(key: Uint8Array, maxDerived?: number): XaesKey {
  const schedule = expandKey(key)
  const subkey = doubleBlock(encryptZeros(schedule))
  const derivation: KeyDerivation = {
    derive: (half, reused) => deriveKey({ schedule, subkey }, half, reused),
    close: () => wipe(schedule, subkey),
  }
  return createXaesKey(derivation, maxDerived)
}

/**
 * Derives a key by CMAC in counter mode, in the module. Both blocks are whole, so one subkey and one AES call for both are enough.
 * A cipher of the platform would cost ten times as much. Source: SP 800-108; C2SP, XAES-256-GCM.
 */
function deriveKey(
  { schedule, subkey }: { readonly schedule: Uint8Array; readonly subkey: Uint8Array },
  half: Uint8Array,
  reused: GcmKey | undefined,
): GcmKey {
  const { calls, memory } = getWasm()
  const { blocks } = REGION
  for (let i = 0; i < SECRET_BYTES; i++) memory[blocks + i] = at(subkey, i & 15)
  for (const counter of [1, 2]) {
    const start = blocks + (counter - 1) * BLOCK
    memory[start + 1] = at(memory, start + 1) ^ counter
    memory[start + 2] = at(memory, start + 2) ^ 0x58
    for (let i = 0; i < HALF_BYTES; i++) memory[start + 4 + i] = at(memory, start + 4 + i) ^ at(half, i)
  }
  memory.set(schedule, REGION.schedule)
  calls.encryptBlocks(REGION.schedule, blocks, 2)
  calls.wipe(REGION.schedule, SCHEDULE_BYTES)
  return readGcmKey(reused)
}

/** Returns an AES-256-GCM key from 32 bytes, which are not kept. */
export function createGcmKey(secret: Uint8Array): GcmKey {
  getWasm().memory.set(secret, REGION.blocks)
  return readGcmKey(undefined)
}

/** Completes the key whose 32 bytes are in `blocks`, and moves it out of the module: into the memory of a closed key, or into new memory. */
function readGcmKey(reused: GcmKey | undefined): GcmKey {
  const { calls, derived } = getWasm()
  const { blocks } = REGION
  calls.wipe(blocks + HASH_KEY_AT, BLOCK)
  calls.expandKey(blocks, blocks + SCHEDULE_AT)
  calls.encryptBlocks(blocks + SCHEDULE_AT, blocks + HASH_KEY_AT, 1)
  calls.fillHashTables(blocks + HASH_KEY_AT, blocks + TABLES_AT)
  const key = reused ?? emptyGcmKey()
  key.bytes.set(derived)
  calls.wipe(blocks, DERIVED_KEY_BYTES)
  return key
}

/** Returns a key of zeros. */
function emptyGcmKey(): GcmKey {
  const bytes = secretBytes(DERIVED_KEY_BYTES)
  return {
    bytes,
    secret: bytes.subarray(0, SECRET_BYTES),
    schedule: bytes.subarray(SCHEDULE_AT, HASH_KEY_AT),
    hashTables: bytes.subarray(TABLES_AT),
    cipher: undefined,
    moduleBlocks: 0,
  }
}

/** Returns AES(0) under these round keys. */
function encryptZeros(schedule: Uint8Array): Uint8Array {
  const block = secretBytes(BLOCK)
  encryptFew(schedule, block)
  return block
}
