/** The dependencies of every function that seals or reveals: keys, random bytes, and the vault. */
import { fault, type Sentence, say, words } from '../errors.ts'
import type { Entropy, KeyRing } from '../ports/crypto.ts'
import type { Column, Table } from '../schema/layout.ts'
import { type Address, readVersion } from '../sealing/envelope.ts'
import type { Reason } from '../util/attempt.ts'

/** The keys and the vault that plaintext is sealed for. */
export interface Barrier {
  /** Replaced when another process changed the root keys: read it again for each piece of work. */
  readonly ring: KeyRing
  readonly entropy: Entropy
  /** 16-byte digest of the vault id. */
  readonly vault: Uint8Array
  /** The root keys that were destroyed. */
  readonly destroyed?: readonly DestroyedKey[]
  /** Receives each row that is seen with a digest that does not agree with its value. Such a row is never returned for a value it does not have. */
  readonly reportMismatch?: ((mismatch: DigestMismatch) => void) | undefined
  /** True if a body with an unknown key version throws UNKNOWN_KEY, because its key may be in the catalog. Otherwise it fails authentication. */
  readonly signalsUnknownKeys?: boolean
}

/** A root key that was destroyed, and when, in milliseconds since 1970. */
export interface DestroyedKey {
  readonly version: number
  readonly at: number
}

/** Returns why a body does not open and what to do, as the end of a sentence. */
export function whyUnreadable({ destroyed = [] }: Pick<Barrier, 'destroyed'>, body: Uint8Array): Sentence {
  const version = readVersion(body, 0, body.length)
  const key = destroyed.find((one) => one.version === version)
  if (key === undefined)
    return say`failed authentication: it was changed or moved in the database, or its key is missing. Restore it.`
  const date = words(new Date(key.at).toISOString().slice(0, 10))
  return say`cannot be opened: root key ${version}, which sealed it, was destroyed on ${date}. It is from a backup that was made before.`
}

/** A row whose stored digest does not agree with the opened value: it was changed in the database. */
export interface DigestMismatch {
  readonly table: Table
  readonly column: Column
  /** The row id. */
  readonly row: number
}

/** Thrown for a body whose key version this process does not know. The catalog is read again, and then the work runs again. */
export const UNKNOWN_KEY = new Error('a body is sealed with a key that this process does not know')

/** Thrown inside a transaction to roll it back if another process changed the catalog. It is read again, and then the work runs again. */
export const CATALOG_MOVED = new Error('another process changed the catalog since this one read it')

/** Maximum number of attempts, if other processes keep changing the catalog. */
const MAX_ATTEMPTS = 10

/** Work that met a catalog or a key of which this process does not know yet. It runs again after the catalog was read again. */
export const OUTDATED: Reason = {
  is: (error) => error === CATALOG_MOVED || error === UNKNOWN_KEY,
  most: MAX_ATTEMPTS,
  lastWord: () => fault('aborted')`Other processes kept changing the schema or the keys of the vault. Retry.`,
}

/**
 * Returns the same barrier for work that runs again after UNKNOWN_KEY. It reports digests that do not agree with their values, if it is
 * given a place to. Its key ring stays the newest one.
 */
export function retryingBarrier(barrier: Barrier, reportMismatch?: Barrier['reportMismatch']): Barrier {
  return new RetryingBarrier(barrier, reportMismatch)
}

/** A class, because each operation makes one, and an object literal with a getter costs ten times as much. */
class RetryingBarrier implements Barrier {
  readonly entropy: Entropy
  readonly vault: Uint8Array
  readonly reportMismatch: Barrier['reportMismatch']
  readonly signalsUnknownKeys = true
  readonly #newest: Barrier

  constructor(newest: Barrier, reportMismatch: Barrier['reportMismatch']) {
    this.#newest = newest
    this.entropy = newest.entropy
    this.vault = newest.vault
    this.reportMismatch = reportMismatch
  }

  get ring(): KeyRing {
    return this.#newest.ring
  }

  get destroyed(): readonly DestroyedKey[] {
    return this.#newest.destroyed ?? []
  }
}

/** Returns the address that the bodies of a table are bound to. */
export function addressOf(barrier: Barrier, table: Table): Address {
  return { vault: barrier.vault, objectId: table.objectId }
}
