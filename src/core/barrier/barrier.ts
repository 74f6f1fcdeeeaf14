/** The dependencies of every function that seals or reveals: keys, random bytes, and the vault. */
import type { Entropy } from '../ports/entropy.ts'
import type { KeyRing } from '../ports/keys.ts'
import type { Table } from '../schema/layout.ts'
import type { Address } from '../sealing/associated-data.ts'

/** The keys and the vault that plaintext is sealed for. */
export interface Barrier {
  /** Replaced when another process changed the root keys: read it again for each piece of work. */
  readonly ring: KeyRing
  readonly entropy: Entropy
  /** 16-byte digest of the vault id. */
  readonly vault: Uint8Array
  /** True if a body with an unknown key version throws UNKNOWN_KEY, because its key may be in the catalog. Otherwise it fails authentication. */
  readonly signalsUnknownKeys?: boolean
}

/** Thrown for a body whose key version this process does not know. The catalog is read again, and then the work runs again. */
export const UNKNOWN_KEY = new Error('a body is sealed with a key that this process does not know')

/** Thrown inside a transaction to roll it back if another process changed the catalog. It is read again, and then the work runs again. */
export const CATALOG_MOVED = new Error('another process changed the catalog since this one read it')

/** Returns the address that the bodies of a table are bound to. */
export function addressOf(barrier: Barrier, table: Table): Address {
  return { vault: barrier.vault, objectId: table.objectId }
}
