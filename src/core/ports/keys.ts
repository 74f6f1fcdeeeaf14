/** What core asks of keys: all keyed work, lists in and lists out, no nonce and no key bytes in any signature. */
import type { Slab } from '../util/slab.ts'

/** Bytes of associated data that stand beside each sealed body. */
export const CONTEXT_BYTES = 32
/** Bytes a digest has. */
export const DIGEST_BYTES = 16
/** 32-bit words a pointer has before it is disguised: space 16 bits | row 48 | check 58 right-aligned in 64. */
export const POINTER_WORDS = 4

/** What a list of bodies opened to. A body that did not open has an empty plaintext and a 0 in `opened`. */
export interface Opened {
  readonly plaintexts: Slab
  readonly opened: Uint8Array
}

/** What a list of texts was once undisguised. `wellFormed[i]` is 0 where the text is no version 4 UUID; its words are then 0. */
export interface Undisguised {
  readonly words: Uint32Array
  readonly wellFormed: Uint8Array
}

/** One of the numbers 0 to `domain` - 1, to be moved by a permutation of them. */
export interface Rank {
  readonly value: bigint
  readonly domain: bigint
  /** Text that stays in clear beside what the number stands for; every context has a permutation of its own. Empty unless given. */
  readonly context?: string
}

/** The keys of one open vault at work. Source of the constructions: docs/security.md. */
export interface KeyRing {
  /** Version of the root key that new bodies are sealed under, 1 to 65535. */
  readonly newestVersion: number
  /**
   * Seals each plaintext under the newest key of this purpose: `header | nonce 24 | ciphertext | tag 16`, the header
   * written as given and in clear. `contexts` holds CONTEXT_BYTES of associated data for each. XAES-256-GCM.
   */
  seal(purpose: string, header: Uint8Array, plaintexts: Slab, contexts: Uint8Array): Slab
  /** Opens bodies whose header has `headerBytes` bytes and whose root key has the version named for each. Unknown version or bad tag: not opened. */
  open(purpose: string, headerBytes: number, versions: Uint16Array, bodies: Slab, contexts: Uint8Array): Opened
  /** DIGEST_BYTES for each input, one after the other, under the digest key of this scope. AES-256-CMAC. Never rotates. */
  digest(scope: string, inputs: Slab): Uint8Array
  /** One UUID text (version 4, lower case) for every POINTER_WORDS words. FF1, radix 2, length 122. */
  disguise(words: Uint32Array): string[]
  /** The words behind each text. Any text is accepted; what is no UUID of version 4 is marked. */
  undisguise(texts: readonly string[]): Undisguised
  /**
   * Where each number stands in the permutation of its domain and context, under the cipher key of this scope. FF1, radix 10, as
   * many digits as the largest number of the domain, cycle-walking. Never rotates. Domains below 10^6 are refused.
   */
  encipher(scope: string, ranks: readonly Rank[]): bigint[]
  /** The way back: the number that `encipher` moved to this one. */
  decipher(scope: string, ranks: readonly Rank[]): bigint[]
}

/** One root key of a vault: 32 random bytes from which all its other keys are derived. */
export interface RootKey {
  readonly version: number
  readonly secret: Uint8Array
}

/** Makes a key ring from root keys; the tweak of pointers and all derivations are bound to the vault's id. */
export interface KeyEngine {
  createRing(vaultId: string, roots: readonly RootKey[]): KeyRing
}

/** A secret as it was wrapped: under which key-encryption key, and the bytes. */
export interface WrappedSecret {
  readonly keyId: string
  readonly bytes: Uint8Array
}

/** Where the key-encryption key lives: a local file, the environment, a KMS. Called at opening, never per record. */
export interface KeyProvider {
  /** Wraps a secret under the current key, bound to `context`. */
  wrap(secret: Uint8Array, context: Uint8Array): Promise<WrappedSecret>
  /** Unwraps it; throws `VaultError('failed_precondition')` when the key is another one or the bytes were changed. */
  unwrap(wrapped: WrappedSecret, context: Uint8Array): Promise<Uint8Array>
}
