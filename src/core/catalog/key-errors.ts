/** Errors of the key provider, known again where they arrive: callers get them as they are, because they say what to do. */
import { isVaultError, VaultError } from '../errors.ts'
import type { KeyProvider, WrappedKey } from '../ports/crypto.ts'
import type { StorageReads } from '../ports/storage.ts'
import { CATALOG } from '../schema/system-tables.ts'
import { toVaultError } from '../util/boundary.ts'
import { sameBytes } from '../util/bytes.ts'
import { causeOf } from '../util/causes.ts'
import { rootAssociatedData, rootEntry } from './root-keys.ts'

/** What a key provider threw. */
const ofProvider = new WeakSet<VaultError>()

/** True for an error of the key provider, not of the storage. */
export function isKeyError(error: unknown): error is VaultError {
  return VaultError.isGenuine(error) && ofProvider.has(error)
}

/** The part of a key provider that opens root keys. */
export type Unwrapping = Pick<KeyProvider, 'unwrap'>

/**
 * Returns a provider whose errors are known again. In a vault that is open, what is no `VaultError` becomes `unavailable`, because it may pass; while a
 * vault is opened it stays a defect.
 */
export function knownErrors(keys: Unwrapping, isOpen: boolean): Unwrapping {
  return {
    async unwrap(wrapped, associatedData) {
      try {
        return await keys.unwrap(wrapped, associatedData)
      } catch (error) {
        if (!isOpen && !VaultError.isGenuine(error)) throw error
        const failure = isVaultError(error) ? toVaultError(error, UNWRAP_FAILED) : failureOf(error)
        ofProvider.add(failure)
        throw failure
      }
    },
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

/** Unwraps the stored root key of an open vault once more, and wipes it. Returns false if no such key is stored. Throws as `knownErrors` does. */
export async function unwrapAgain(ports: RootKeyPorts, version: number): Promise<boolean> {
  const keys = knownErrors(ports.keys, true)
  const associatedData = rootAssociatedData(ports.vaultId, version)
  let wrapped = await storedRoot(ports, version)
  while (wrapped !== undefined) {
    try {
      const key = await keys.unwrap(wrapped, associatedData)
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
  const filter = { kind: 'compare', column: 'entry', operator: '=', value: rootEntry(version) } as const
  const [row] = await storage.find(CATALOG.name, filter, { order: 'asc', limit: 1, newest: true })
  const keyId = row?.key_id
  const content = row?.content
  return typeof keyId === 'string' && content instanceof Uint8Array ? { keyId, bytes: content } : undefined
}
