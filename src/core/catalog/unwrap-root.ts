/** Asks the key provider for a root key, and knows its errors again: a caller is told of them as they are, because they say what to do. */
import { isVaultError, VaultError } from '../errors.ts'
import type { KeyProvider, WrappedKey } from '../ports/crypto.ts'
import type { StorageReads } from '../ports/storage.ts'
import { CATALOG } from '../schema/system-tables.ts'
import { toVaultError } from '../util/boundary.ts'
import { sameBytes } from '../util/bytes.ts'
import { causeOf } from '../util/causes.ts'
import { rootAssociatedData } from './found-vault.ts'

/** What a key provider threw. */
const ofProvider = new WeakSet<VaultError>()

/** True for an error of the key provider, not of the storage. */
export function isKeyError(error: unknown): error is VaultError {
  return VaultError.isGenuine(error) && ofProvider.has(error)
}

/** A wrapped root key, and what it is bound to. */
export interface WrappedRoot {
  readonly wrapped: WrappedKey
  readonly associatedData: Uint8Array
  /** True in a vault that is open: an error of unknown kind may pass then, and is `unavailable`. While a vault is opened it is a defect. */
  readonly isOpen: boolean
}

/** Unwraps a root key. The caller wipes it. Throws the `VaultError` of the provider unchanged. */
export async function unwrapRoot(keys: KeyProvider, { wrapped, associatedData, isOpen }: WrappedRoot): Promise<Uint8Array> {
  try {
    return await keys.unwrap(wrapped, associatedData)
  } catch (error) {
    if (!isOpen && !VaultError.isGenuine(error)) throw error
    const failure = isVaultError(error) ? toVaultError(error, UNWRAP_FAILED) : failureOf(error)
    ofProvider.add(failure)
    throw failure
  }
}

const UNWRAP_FAILED = 'The root key cannot be unwrapped.'

function failureOf(error: unknown): VaultError {
  const message = `${UNWRAP_FAILED} The key provider failed. Check it, then retry.`
  return new VaultError('unavailable', message, {}, { cause: causeOf(error) })
}

/** What is asked for a root key again: the provider, and the storage with its wrapped form. */
export interface RootKeyPorts {
  readonly keys: KeyProvider
  readonly storage: StorageReads
  readonly vaultId: string
}

/** Unwraps the stored root key of a version once more, and wipes it. Returns false if no such key is stored. Throws as `unwrapRoot` does for an open vault. */
export async function unwrapAgain(ports: RootKeyPorts, version: number): Promise<boolean> {
  const { keys, vaultId } = ports
  const associatedData = rootAssociatedData(vaultId, version)
  let wrapped = await storedRoot(ports, version)
  while (wrapped !== undefined) {
    try {
      const key = await unwrapRoot(keys, { wrapped, associatedData, isOpen: true })
      key.fill(0)
      return true
    } catch (error) {
      // Another process may have wrapped it anew meanwhile, so that the key that wrapped it before could go.
      const current = await storedRoot(ports, version)
      if (current?.keyId === wrapped.keyId && sameBytes(current.bytes, wrapped.bytes)) throw error
      wrapped = current
    }
  }
  return false
}

async function storedRoot({ storage }: RootKeyPorts, version: number): Promise<WrappedKey | undefined> {
  const filter = { kind: 'compare', column: 'entry', operator: '=', value: `root/${version}` } as const
  const [row] = await storage.find(CATALOG.name, filter, { order: 'asc', limit: 1, newest: true })
  const keyId = row?.key_id
  const content = row?.content
  return typeof keyId === 'string' && content instanceof Uint8Array ? { keyId, bytes: content } : undefined
}
