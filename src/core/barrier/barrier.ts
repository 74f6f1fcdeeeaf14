/** What crossing the barrier takes: keys, luck, and which vault this is. */
import type { Entropy } from '../ports/entropy.ts'
import type { KeyRing } from '../ports/keys.ts'
import type { Table } from '../schema/layout.ts'
import type { Address } from '../sealing/associated-data.ts'

/** Handed to every function of this room. */
export interface Barrier {
  readonly ring: KeyRing
  readonly entropy: Entropy
  /** 16-byte digest of the vault's id. */
  readonly vault: Uint8Array
}

/** Where the bodies of a table stand. */
export function addressOf(barrier: Barrier, table: Table): Address {
  return { vault: barrier.vault, objectId: table.objectId }
}
