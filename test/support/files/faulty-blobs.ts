/** A blob store whose calls fail on demand: before they do something, or after. */
import type { BlobStore } from '../../../src/core/ports/blobs.ts'
import { VaultError } from '../../../src/index.ts'

/** A store and its faults. */
export interface FaultyBlobs {
  readonly blobs: BlobStore
  /** Asked before and after each write and deletion, and before each read: true lets the call fail there. */
  fail(isFailing: () => boolean): void
  mend(): void
}

/** Wraps a store. */
export function faultyBlobs(sound: BlobStore): FaultyBlobs {
  let isFailing = (): boolean => false
  const check = (): void => {
    if (isFailing()) throw new VaultError('unavailable', 'The blob store is out of order.')
  }
  return {
    fail(failing) {
      isFailing = failing
    },
    mend() {
      isFailing = () => false
    },
    blobs: {
      async write(key, content) {
        check()
        await sound.write(key, content)
        check()
      },
      async *read(key, range) {
        check()
        yield* sound.read(key, range)
      },
      async delete(keys) {
        check()
        await sound.delete(keys)
        check()
      },
      close: () => sound.close(),
    },
  }
}
