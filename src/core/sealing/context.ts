/** The associated data of sealed bodies: the full address, so that a body moved elsewhere does not open. */
import { CONTEXT_BYTES } from '../ports/keys.ts'
import { FORMAT } from './envelope.ts'

/** Where a body stands. `vault` is the 16-byte digest of the vault's id. */
export interface Address {
  readonly vault: Uint8Array
  /** Ordinal of the table. */
  readonly space: number
}

/** Bytes of the vault's digest in a context. */
const VAULT_BYTES = 16

/**
 * One context for each row: format 1 | root key version 2 | zero 1 | table 4 | row id 8 | vault 16. `versionOf` answers the
 * version each body is sealed under.
 */
export function writeContexts(address: Address, ids: readonly number[], versionOf: (index: number) => number): Uint8Array {
  const contexts = new Uint8Array(ids.length * CONTEXT_BYTES)
  const view = new DataView(contexts.buffer)
  for (let i = 0; i < ids.length; i++) {
    const at = i * CONTEXT_BYTES
    const id = ids[i] ?? 0
    view.setUint8(at, FORMAT)
    view.setUint16(at + 1, versionOf(i))
    view.setUint32(at + 4, address.space)
    view.setUint32(at + 8, Math.floor(id / 0x1_0000_0000))
    view.setUint32(at + 12, id >>> 0)
    contexts.set(address.vault, at + CONTEXT_BYTES - VAULT_BYTES)
  }
  return contexts
}
