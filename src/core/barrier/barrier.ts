/** The dependencies of every function that seals or reveals: keys, random bytes, and the vault. */
import { fault } from '../errors.ts'
import type { Entropy, KeyRing } from '../ports/crypto.ts'
import type { Column, Table } from '../schema/layout.ts'
import type { Address } from '../sealing/envelope.ts'
import type { Reason } from '../util/attempt.ts'

/** The keys and the vault that plaintext is sealed for. */
export interface Barrier {
  /** Replaced when another process changed the root keys: read it again for each piece of work. */
  readonly ring: KeyRing
  readonly entropy: Entropy
  /** 16-byte digest of the vault id. */
  readonly vault: Uint8Array
  /** Receives each row that is seen with a digest that does not agree with its value. Such a row is never returned for a value it does not have. */
  readonly reportMismatch?: ((mismatch: DigestMismatch) => void) | undefined
  /** True if a body with an unknown key version throws UNKNOWN_KEY, because its key may be in the catalog. Otherwise it fails authentication. */
  readonly signalsUnknownKeys?: boolean
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
}

/** Returns the address that the bodies of a table are bound to. */
export function addressOf(barrier: Barrier, table: Table): Address {
  return { vault: barrier.vault, objectId: table.objectId }
}
