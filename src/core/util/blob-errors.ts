/** What all blob stores report alike: arguments that are refused, because a key becomes part of a path or of an address, and a missing blob. */
import { VaultError } from '../errors.ts'

const KEY = /^[0-9a-f]{32}$/

/** Throws `internal` for anything but 32 lower-case hex digits. */
export function assertBlobKeys(keys: readonly string[]): void {
  if (keys.every((key) => typeof key === 'string' && KEY.test(key))) return
  throw new VaultError('internal', 'The key of a blob must be 32 lower-case hex digits. This is misuse of the blob port.')
}

/** Throws `internal` for anything but two offsets in order. */
export function assertByteRange({ start, end }: { readonly start: number; readonly end: number }): void {
  if (Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && start <= end) return
  throw new VaultError(
    'internal',
    'The range of a blob must be two whole offsets from 0, in order. This is misuse of the blob port.',
  )
}

/** `not_found`: the store has no whole blob of the key. */
export function noBlobError(): VaultError {
  return new VaultError('not_found', 'There is no blob of this key. It was deleted, or never written.')
}
