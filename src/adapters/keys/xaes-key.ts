/** XAES-256-GCM (C2SP): from one 256-bit key and the first half of a 24-byte nonce, the AES-256-GCM key that does the work. */

import { createSecretKey, type KeyObject } from 'node:crypto'
import { at } from '../../core/util/at.ts'
import { type BlockCipher, createBlockCipher, doubleBlock, expandKey } from './block-cipher.ts'

/** Bytes of a nonce, of the half that chooses the key, and of the half that is the IV of AES-GCM. */
export const NONCE_BYTES = 24
export const HALF_BYTES = 12
export const TAG_BYTES = 16

/** Derived keys one key remembers: each epoch of each writing process is one. */
const MAX_DERIVED = 256

/** A derived key in the shapes the two ways of computing AES-GCM want it. */
export interface GcmKey {
  readonly secret: KeyObject
  readonly cipher: BlockCipher
  /** The same cipher for a few blocks, inside the module. */
  readonly schedule: Uint8Array
  /** AES(0), the key of GHASH. */
  readonly hashKey: Uint8Array
}

/** An XAES-256-GCM key. */
export interface XaesKey {
  /** The key for the half nonce at `at`; the one asked for last is found without a look-up. */
  derive(nonces: Uint8Array, at: number): GcmKey
}

/** An XAES-256-GCM key from 32 bytes. */
export function createXaesKey(key: Uint8Array): XaesKey {
  const cipher = createBlockCipher(key)
  const subkey = doubleBlock(cipher.update(Buffer.alloc(16)))
  const derived = new Map<string, GcmKey>()
  const lastHalf = Buffer.alloc(HALF_BYTES)
  let last: GcmKey | undefined

  return {
    derive(nonces, at) {
      if (last !== undefined && sameHalf(lastHalf, nonces, at)) return last
      lastHalf.set(nonces.subarray(at, at + HALF_BYTES))
      const name = lastHalf.toString('latin1')
      last = derived.get(name) ?? createGcmKey(deriveSecret(cipher, subkey, lastHalf))
      // Deleting first moves the entry to the young end, so that the oldest used one is the first to go.
      derived.delete(name)
      derived.set(name, last)
      if (derived.size > MAX_DERIVED) derived.delete(derived.keys().next().value ?? name)
      return last
    },
  }
}

/** CMAC in counter mode (SP 800-108) as C2SP fixes it: both blocks are whole, so one subkey and one AES call each suffice. */
function deriveSecret(cipher: BlockCipher, subkey: Uint8Array, half: Uint8Array): Uint8Array {
  const blocks = Buffer.alloc(32)
  for (const counter of [1, 2]) {
    const at = (counter - 1) * 16
    blocks[at + 1] = counter
    blocks[at + 2] = 0x58
    blocks.set(half, at + 4)
  }
  for (let i = 0; i < 32; i++) blocks[i] = at(blocks, i) ^ at(subkey, i & 15)
  return cipher.update(blocks)
}

/** An AES-256-GCM key from 32 bytes. */
export function createGcmKey(secret: Uint8Array): GcmKey {
  const cipher = createBlockCipher(secret)
  return { secret: createSecretKey(secret), cipher, schedule: expandKey(secret), hashKey: cipher.update(Buffer.alloc(16)) }
}

function sameHalf(half: Uint8Array, nonces: Uint8Array, at: number): boolean {
  for (let i = 0; i < HALF_BYTES; i++) if (half[i] !== nonces[at + i]) return false
  return true
}
