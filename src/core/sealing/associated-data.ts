/** The associated data of sealed bodies: the address of each body, so that a moved body does not open. */
import type { Hash } from '../ports/hash.ts'
import { AAD_BYTES } from '../ports/keys.ts'
import { required } from '../util/at.ts'
import { ByteWriter } from '../util/bytes.ts'
import { toSlab } from '../util/slab.ts'
import { BODY_FORMAT } from './envelope.ts'

/** The table that holds a body. `vault` is the 16-byte digest of the vault id. */
export interface Address {
  readonly vault: Uint8Array
  /** Object id of the table. */
  readonly objectId: number
}

/** Length of the digest of the vault id, in bytes. */
const VAULT_BYTES = 16
/** Prefix of the hashed vault id, so that the digest is of no other text. */
const VAULT_LABEL = 'strongroom/v1/vault/'

/** Returns the 16-byte digest of a vault id: the first half of a SHA-256. It depends on no key, so that root keys can be replaced. */
export function digestVaultId(hash: Hash, vaultId: string): Uint8Array {
  const out = new ByteWriter(VAULT_LABEL.length + vaultId.length)
  out.utf8(VAULT_LABEL + vaultId)
  return hash.sha256(toSlab([out.written()])).slice(0, VAULT_BYTES)
}

/**
 * Returns AAD_BYTES of associated data for each row, in order. Layout in bytes, big-endian: format 1 | root key version 2 |
 * zero 1 | object id 4 | row id 8 | vault 16. `versionOf` returns the root key version of the body at an index.
 */
export function writeAssociatedData(address: Address, ids: readonly number[], versionOf: (index: number) => number): Uint8Array {
  const { vault, objectId } = address
  const associatedData = new Uint8Array(ids.length * AAD_BYTES)
  for (let i = 0; i < ids.length; i++) {
    const start = i * AAD_BYTES
    const id = required(ids[i])
    const version = versionOf(i)
    associatedData[start] = BODY_FORMAT
    associatedData[start + 1] = version >>> 8
    associatedData[start + 2] = version
    writeU32(associatedData, start + 4, objectId)
    writeU32(associatedData, start + 8, Math.floor(id / 0x1_0000_0000))
    writeU32(associatedData, start + 12, id)
    for (let k = 0; k < VAULT_BYTES; k++) associatedData[start + AAD_BYTES - VAULT_BYTES + k] = required(vault[k])
  }
  return associatedData
}

/** Writes the low 32 bits of a number, big-endian. A view of the buffer would cost more than the bytes. */
function writeU32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24
  bytes[at + 1] = value >>> 16
  bytes[at + 2] = value >>> 8
  bytes[at + 3] = value
}
