/** Seals and opens with the keys of subjects: each of 32 random bytes, which depend on no root key. */
import { VaultError } from '../../core/errors.ts'
import type { SubjectKeys } from '../../core/ports/crypto.ts'
import type { NonceSource } from './nonces.ts'
import type { Primitives } from './primitives.ts'
import { openWith, sealWith } from './sealer.ts'
import { SECRET_BYTES, type XaesKey } from './xaes-key.ts'

/** Derived keys that each keeps. One takes some 2 KB, and there are thousands of subjects. */
const MAX_DERIVED = 1

/** Returns keys of subjects, none at first. */
export function createSubjectKeys(primitives: Primitives, nonces: NonceSource): SubjectKeys {
  const { maxBatchedBytes } = primitives
  const keys = new Map<number, XaesKey>()
  let isClosed = false
  const keyOf = (id: number): XaesKey | undefined => keys.get(id)
  const assertOpen = (): void => {
    if (isClosed) throw new VaultError('failed_precondition', 'The vault is closed. Open it again.')
  }
  const remove = (id: number): void => {
    keys.get(id)?.close()
    keys.delete(id)
  }
  return {
    has: (id) => keys.has(id),
    add(id, secret) {
      assertOpen()
      if (secret.length !== SECRET_BYTES)
        throw new VaultError('internal', `The key of a subject must have ${SECRET_BYTES} bytes.`)
      remove(id)
      keys.set(id, primitives.createXaesKey(secret, MAX_DERIVED))
    },
    remove,
    seal(headers, ids, plaintexts, associatedData) {
      assertOpen()
      return sealWith({ keyOf, maxBatchedBytes, nonces }, { headers, versions: ids, plaintexts, associatedData })
    },
    open(headerBytes, ids, bodies, associatedData) {
      assertOpen()
      return openWith({ keyOf, maxBatchedBytes }, headerBytes, ids, bodies, associatedData)
    },
    close() {
      isClosed = true
      for (const id of [...keys.keys()]) remove(id)
    },
  }
}
