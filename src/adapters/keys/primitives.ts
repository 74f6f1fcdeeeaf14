/** What a key ring computes with. The module and the platform alone give the same bytes, so a vault opens with either. */
import type { DecryptedPointers } from '../../core/ports/crypto.ts'
import type { InPlaceCipher } from './platform/aes.ts'
import type { Cmac } from './platform/cmac.ts'
import type { XaesKey } from './xaes-key.ts'

/** A permutation of pointers, and its inverse. */
export interface PointerCipher {
  /** Returns one UUID for each POINTER_WORDS words, in order. */
  encrypt(words: Uint32Array): string[]
  /** Returns the pointer of each text, in order. */
  decrypt(texts: readonly string[]): DecryptedPointers
  /** Wipes the key. It cannot be used afterwards. */
  close(): void
}

/** The ciphers of one implementation. Each takes a key of 32 bytes, which are not kept. */
export interface Primitives {
  /** Maximum length in bytes of a plaintext that the module seals and opens in a batch; -1 without the module. */
  readonly maxBatchedBytes: number
  /** Source of `maxDerived`: `createXaesKey` of xaes-key.ts. */
  createXaesKey(key: Uint8Array, maxDerived?: number): XaesKey
  createCmac(key: Uint8Array): Cmac
  /** `tweak` has 7 bytes. */
  createPointerCipher(key: Uint8Array, tweak: Uint8Array): PointerCipher
  createInPlaceCipher(key: Uint8Array): InPlaceCipher
}
