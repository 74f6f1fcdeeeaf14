/** XAES-256-GCM (C2SP): derives AES-256-GCM keys from a key of 256 bits and the first half of a nonce of 24 bytes. */
import { createSecretKey, type KeyObject } from 'node:crypto'
import { at } from '../../core/util/at.ts'
import { type BlockCipher, createBlockCipher, doubleBlock, expandKey } from './block-cipher.ts'

/** Length in bytes of a nonce; of each half, which selects the key or is the IV of AES-GCM; and of a tag. */
export const NONCE_BYTES = 24
export const HALF_BYTES = 12
export const TAG_BYTES = 16

/** Maximum number of derived keys cached for one key. Each epoch of each writing process has one. */
const MAX_DERIVED = 256

/** A derived key, in the forms that the platform's AES-GCM and the module need. */
export interface GcmKey {
  readonly secret: KeyObject
  readonly cipher: BlockCipher
  /** The round keys, for a few blocks inside the module. */
  readonly schedule: Uint8Array
  /** AES(0): the key of GHASH. */
  readonly hashKey: Uint8Array
}

/** An XAES-256-GCM key. */
export interface XaesKey {
  /** Returns the key for the half nonce at `offset`. Repeating the last one costs no lookup. */
  derive(nonces: Uint8Array, offset: number): GcmKey
}

/** Returns an XAES-256-GCM key from 32 bytes. */
export function createXaesKey(key: Uint8Array): XaesKey {
  const cipher = createBlockCipher(key)
  const subkey = doubleBlock(cipher.update(Buffer.alloc(16)))
  const derived = new Map<string, GcmKey>()
  const lastHalf = Buffer.alloc(HALF_BYTES)
  let last: GcmKey | undefined

  return {
    derive(nonces, offset) {
      if (last !== undefined && sameHalf(lastHalf, nonces, offset)) return last
      lastHalf.set(nonces.subarray(offset, offset + HALF_BYTES))
      const name = lastHalf.toString('latin1')
      last = derived.get(name) ?? createGcmKey(deriveSecret(cipher, subkey, lastHalf))
      // Deleting first moves the entry to the end of the map, so that the least recently used one is evicted first.
      derived.delete(name)
      derived.set(name, last)
      if (derived.size > MAX_DERIVED) derived.delete(derived.keys().next().value ?? name)
      return last
    },
  }
}

/** Returns the derived key of 32 bytes, by CMAC in counter mode. Both blocks are whole, so one subkey and one AES call for both are enough. Source: SP 800-108; C2SP, XAES-256-GCM. */
function deriveSecret(cipher: BlockCipher, subkey: Uint8Array, half: Uint8Array): Uint8Array {
  const blocks = Buffer.alloc(32)
  for (const counter of [1, 2]) {
    const start = (counter - 1) * 16
    blocks[start + 1] = counter
    blocks[start + 2] = 0x58
    blocks.set(half, start + 4)
  }
  for (let i = 0; i < 32; i++) blocks[i] = at(blocks, i) ^ at(subkey, i & 15)
  return cipher.update(blocks)
}

/** Returns an AES-256-GCM key from 32 bytes. */
export function createGcmKey(secret: Uint8Array): GcmKey {
  const cipher = createBlockCipher(secret)
  return { secret: createSecretKey(secret), cipher, schedule: expandKey(secret), hashKey: cipher.update(Buffer.alloc(16)) }
}

function sameHalf(half: Uint8Array, nonces: Uint8Array, offset: number): boolean {
  for (let i = 0; i < HALF_BYTES; i++) if (half[i] !== nonces[offset + i]) return false
  return true
}
