/** Errors of the key provider, known again where they arrive: callers get them as they are, because they say what to do. */
import { isVaultError, VaultError } from '../errors.ts'
import type { KeyProvider } from '../ports/crypto.ts'
import { toVaultError } from '../util/boundary.ts'
import { causeOf } from '../util/causes.ts'

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
