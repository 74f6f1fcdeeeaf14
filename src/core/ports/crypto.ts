/** The cryptography that a vault is given: the key ring, signatures of checkpoints, random bytes, and unkeyed hashes. */
import type { Slab } from '../util/memory.ts'

/** Length of the associated data of each sealed body, in bytes. */
export const AAD_BYTES = 32
/** Length of a digest in bytes. */
export const DIGEST_BYTES = 16
/** The first bit of a body of the short form. Its header is this byte alone, and it stores the 18 bytes of its nonce that are random. */
export const SHORT_FORM = 0x80
/** Number of 32-bit words of a decrypted pointer. Layout in bits: object id 16 | row 48 | token check 58, right-aligned in 64. */
export const POINTER_WORDS = 4

/** The result of opening a list of bodies. */
export interface Opened {
  /** One plaintext for each body, in order; empty for a body that did not open. */
  readonly plaintexts: Slab
  /** One byte for each body, in order: 1 if it opened, else 0. */
  readonly opened: Uint8Array
}

/** The result of decrypting a list of pointers. */
export interface DecryptedPointers {
  /** POINTER_WORDS words for each text, in order; zeros for a text that is not well-formed. */
  readonly words: Uint32Array
  /** One byte for each text, in order: 1 if it is a version 4 UUID, else 0. */
  readonly wellFormed: Uint8Array
}

/** A number to encrypt within its domain, as in format-preserving encryption by ranks. */
export interface Rank {
  /** A number from 0 to `domain` - 1. */
  readonly value: bigint
  /** The size of the domain, at least 10^6. */
  readonly domain: bigint
  /** Text for the tweak. Each tweak text gives another permutation of the domain. Default: empty text. */
  readonly tweakText?: string
}

/**
 * The keys of one open vault. All methods are synchronous, and results are in the order of the inputs. Methods throw `internal` for
 * lists whose lengths do not fit. Source: docs/security.md.
 */
export interface KeyRing {
  /** Version of the active root key, from 1 to 65535: new bodies are sealed with it. */
  readonly activeVersion: number
  /** Version of the root key for new pointers, ranks, cursors and bearers, and for deterministic tokens. */
  readonly lookupVersion: number
  /**
   * Versions of the root keys that stored digests can be of: new ones are of the first. Pointers, ranks, cursors and bearers of each are accepted. One,
   * but for the time in which look-up keys are rotated.
   */
  readonly lookupVersions: readonly number[]
  /** True if the ring has the root key of this version. */
  hasVersion(version: number): boolean
  /**
   * Seals each plaintext with the active key of a purpose, by XAES-256-GCM. Returns bodies with this layout in bytes: `header | nonce
   * 24 | ciphertext | tag 16`. The header has at least one byte, and is copied in plaintext. If its first bit is SHORT_FORM, it has one
   * byte, and the nonce takes 18: 6 of its bytes are zero and not stored. `associatedData` has AAD_BYTES for each plaintext.
   */
  seal(purpose: string, header: Uint8Array, plaintexts: Slab, associatedData: Uint8Array): Slab
  /**
   * Opens bodies of both forms. Those of the long one have a header of `headerBytes` bytes. `versions` has the root key version of each
   * body, and `associatedData` has AAD_BYTES for each. A body with an unknown version or a wrong tag does not open; the others do. Never
   * throws for a bad body.
   */
  open(purpose: string, headerBytes: number, versions: Uint16Array, bodies: Slab, associatedData: Uint8Array): Opened
  /**
   * Returns DIGEST_BYTES for each input, by AES-256-CMAC with the digest key of a scope. The first parameter, here and below, is the
   * version of the root key that the key is derived from. Throws `internal` for a version that the ring does not have.
   */
  digest(version: number, scope: string, inputs: Slab): Uint8Array
  /** Encrypts pointers of POINTER_WORDS words each. Returns one UUID (version 4, lower case) for each. FF1, radix 2, length 122. */
  encryptPointers(version: number, words: Uint32Array): string[]
  /** Decrypts pointers: the inverse. Accepts any text and marks those that are not well-formed. */
  decryptPointers(version: number, texts: readonly string[]): DecryptedPointers
  /**
   * Encrypts each number within its domain with the cipher key of a scope. FF1, radix 10, with as many digits as the largest number of
   * the domain has, and cycle walking. Throws `internal` for a domain below 10^6.
   */
  encryptRanks(version: number, scope: string, ranks: readonly Rank[]): bigint[]
  /** Decrypts each number: the inverse. */
  decryptRanks(version: number, scope: string, ranks: readonly Rank[]): bigint[]
  /** Returns the key of one content from 32 random bytes, which are not kept. It depends on no root key. The caller closes it. */
  contentKey(secret: Uint8Array): ContentKey
  /**
   * Returns another ring, of the root keys of this one with these versions and of more, which the caller wipes. It shares no memory with this one. Throws
   * like `createRing`, and `internal` for a version that this ring does not have.
   */
  withRoots(versions: readonly number[], more: readonly RootKey[], use: RootKeyUse): KeyRing
  /** Overwrites all key bytes that the ring can reach. Later calls throw `failed_precondition`; another `close` does nothing. */
  close(): void
}

/** The key of one content. Its bodies have the layout of `KeyRing.seal`, and no version. */
export interface ContentKey {
  /** Source: `KeyRing.seal`. */
  seal(header: Uint8Array, plaintexts: Slab, associatedData: Uint8Array): Slab
  /** Source: `KeyRing.open`. */
  open(headerBytes: number, bodies: Slab, associatedData: Uint8Array): Opened
  /** Overwrites it. Later calls throw `failed_precondition`, as after the ring was closed. */
  close(): void
}

/**
 * Keys of subjects, each by the id of the row that holds it. They depend on no root key. Lists are as those of `KeyRing`: `ids` has the key of each body, and
 * `associatedData` has AAD_BYTES for each.
 */
export interface SubjectKeys {
  has(id: number): boolean
  /** Adds a key of 32 random bytes, which are not kept, in place of one with this id. */
  add(id: number, secret: Uint8Array): void
  /** Overwrites a key. Does nothing if there is none. */
  remove(id: number): void
  /** Seals each plaintext, with the long form of the nonce. `headers` has one for each, all of one length. Throws `internal` for a key that is not there. */
  seal(headers: Uint8Array, ids: Float64Array, plaintexts: Slab, associatedData: Uint8Array): Slab
  /** Opens bodies with headers of `headerBytes`. One whose key is not there does not open; the others do. */
  open(headerBytes: number, ids: Float64Array, bodies: Slab, associatedData: Uint8Array): Opened
  /** Overwrites all keys. Later calls throw `failed_precondition`. */
  close(): void
}

/** One root key of a vault. All keys but those of contents and of subjects are derived from root keys. */
export interface RootKey {
  /** From 1 to 65535. */
  readonly version: number
  /** 32 random bytes. */
  readonly key: Uint8Array
}

/**
 * What a root key is used for: a `lookup` one makes digests, pointers and ranks, and never seals. Of the others a `pending` one opens bodies of processes
 * that know more, the `active` one also seals, and a `retired` one only opens.
 */
export type RootKeyState = (typeof ROOT_KEY_STATES)[number]

/** The states, by the byte that stores them in the head of a chain. */
export const ROOT_KEY_STATES = ['pending', 'active', 'retired', 'lookup'] as const

/** The root keys of a vault as its catalog lists them, without the keys. */
export interface RootKeySet {
  /** Generation of the catalog: raised by every change of its root keys or its schema. From 1. */
  readonly generation: number
  /** Version of the root key for new pointers and ranks. */
  readonly lookupVersion: number
  /** By rising version. Exactly one is active. */
  readonly roots: readonly { readonly version: number; readonly state: RootKeyState }[]
}

/** The versions of root keys that a ring uses. */
export type RootKeyUse = Pick<KeyRing, 'activeVersion' | 'lookupVersion'> & Partial<Pick<KeyRing, 'lookupVersions'>>

/** Creates key rings. */
export interface KeyRingFactory {
  /**
   * Returns a key ring with at least one root key. It copies the keys: the caller wipes its own. The tweak of pointers and all derived
   * keys depend on the vault id. By default, the newest root key seals and the oldest one looks up.
   */
  createRing(vaultId: string, roots: readonly RootKey[], use?: RootKeyUse): KeyRing
  /** Returns keys of subjects, none at first. The caller closes them. */
  createSubjectKeys(): SubjectKeys
}

/** A wrapped root key. */
export interface WrappedKey {
  /** Name of the key-encryption key. `unwrap` selects the key by it. */
  readonly keyId: string
  /** The wrapped bytes, in a format of the provider. */
  readonly bytes: Uint8Array
}

/**
 * Wraps root keys with a key-encryption key from a local file, the environment or a KMS. Called while a vault is opened, never per
 * record. Throws `unavailable` if the key store cannot be reached.
 */
export interface KeyProvider {
  /**
   * Wraps a root key of 32 bytes with the current key-encryption key. `associatedData` is authenticated, but not stored. The vault
   * overwrites `key` afterwards, so the result has no part of it.
   */
  wrap(key: Uint8Array, associatedData: Uint8Array): Promise<WrappedKey>
  /** Returns the root key in an array of its own, which the vault overwrites. Throws `failed_precondition` if the provider does not have the key, or if bytes or `associatedData` differ. */
  unwrap(wrapped: WrappedKey, associatedData: Uint8Array): Promise<Uint8Array>
  /** Returns the `keyId` that `wrap` would use now: a root key with another one is due to be wrapped again. Absent: unknown, so that each is. */
  currentKeyId?(): Promise<string>
  /** Wraps again with the current key-encryption key inside the key service, so that the root key does not leave it. Absent: `unwrap`, then `wrap`. */
  rewrap?(wrapped: WrappedKey, associatedData: Uint8Array): Promise<WrappedKey>
  /** Ends connections and workers of the provider. Called when a vault closes; another vault may use the provider on, so a later call begins them again. */
  close?(): Promise<void>
}

/** The algorithms of signatures, with the length of a signature in bytes. Sources: RFC 8032; FIPS 204. */
export const SIGNATURE_BYTES = { Ed25519: 64, 'ML-DSA-65': 3309 } as const

/** The name of an algorithm of signatures. */
export type SignatureAlgorithm = keyof typeof SIGNATURE_BYTES

/** A private key in use. */
export interface Signer {
  /** Name of the key, 1 to 128 characters. A verifier selects the public key by it. */
  readonly keyId: string
  /** Default 'Ed25519'. */
  readonly algorithm?: SignatureAlgorithm
  /** Returns the signature of the bytes: 64 bytes of Ed25519, 3,309 of ML-DSA-65 with an empty context. Rejects if the key cannot be used; the checkpoint then fails. */
  sign(bytes: Uint8Array): Promise<Uint8Array>
}

/** A public key in use. */
export interface SignatureVerifier {
  /** Name of the key, as in `Signer.keyId`. */
  readonly keyId: string
  readonly algorithm: SignatureAlgorithm
  /** Returns true if `signature` is the signature of `bytes` by this key. Returns false for anything else; never throws. */
  verify(bytes: Uint8Array, signature: Uint8Array): boolean
}

/** Source of random bytes for keys, ids and tokens. */
export interface Entropy {
  /** Returns exactly `count` bytes of a cryptographically secure generator, in a buffer that the source does not use again. */
  bytes(count: number): Uint8Array
}

/** Length of a SHA-256 hash in bytes. */
export const HASH_BYTES = 32

/** SHA-256. Source: FIPS 180-4. */
export interface Hash {
  /** Returns HASH_BYTES for each input, in order, in one array. Synchronous. */
  sha256(inputs: Slab): Uint8Array
}
