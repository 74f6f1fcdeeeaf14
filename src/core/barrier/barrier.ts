/** The dependencies of every function that seals or reveals: keys, random bytes, and the vault. */
import type { Entropy } from '../ports/entropy.ts'
import type { KeyRing } from '../ports/keys.ts'
import type { Column, Table } from '../schema/layout.ts'
import type { Address } from '../sealing/associated-data.ts'

/** The keys and the vault that plaintext is sealed for. */
export interface Barrier {
  readonly ring: KeyRing
  readonly entropy: Entropy
  /** 16-byte digest of the vault id. */
  readonly vault: Uint8Array
  /** Receives each row that is seen with a digest that does not agree with its value. Such a row is never returned for a value it does not have. */
  readonly reportMismatch?: (mismatch: DigestMismatch) => void
}

/** A row whose stored digest does not agree with the opened value: it was changed in the database, or an older process wrote none. */
export interface DigestMismatch {
  readonly table: Table
  readonly column: Column
  /** The row id. */
  readonly row: number
}

/** Returns the address that the bodies of a table are bound to. */
export function addressOf(barrier: Barrier, table: Table): Address {
  return { vault: barrier.vault, objectId: table.objectId }
}
