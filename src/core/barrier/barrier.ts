/** The dependencies of every function that seals or reveals: keys, random bytes, and the vault. */
import type { Entropy } from '../ports/entropy.ts'
import type { KeyRing } from '../ports/keys.ts'
import type { Table } from '../schema/layout.ts'
import type { Address } from '../sealing/associated-data.ts'

/** The keys and the vault that plaintext is sealed for. */
export interface Barrier {
  readonly ring: KeyRing
  readonly entropy: Entropy
  /** 16-byte digest of the vault id. */
  readonly vault: Uint8Array
}

/** Returns the address that the bodies of a table are bound to. */
export function addressOf(barrier: Barrier, table: Table): Address {
  return { vault: barrier.vault, objectId: table.objectId }
}
