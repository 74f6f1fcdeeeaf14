/** Checks what a blob store is called with, for all stores alike: a key becomes part of a path or of an address. */
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
