/** A blob store in memory: the least code that conforms, and the base of the stores that are broken on purpose. */
import { VaultError } from '../../../src/core/errors.ts'
import type { BlobStore } from '../../../src/core/ports/blobs.ts'
import { assertBlobKeys, assertByteRange } from '../../../src/core/util/causes.ts'

/** Where blobs are: whole ones, and the chunks of unfinished writes. */
export interface MemoryPlace {
  readonly blobs: Map<string, Uint8Array>
  readonly unfinished: Map<string, Uint8Array[]>
}

export function memoryPlace(): MemoryPlace {
  return { blobs: new Map(), unfinished: new Map() }
}

/** Bytes of a key at a place, whole or unfinished; undefined if there are none. */
export function storedAt({ blobs, unfinished }: MemoryPlace, key: string): number | undefined {
  return blobs.get(key)?.length ?? unfinished.get(key)?.reduce((sum, { length }) => sum + length, 0)
}

/** Bytes of a chunk that is read. */
const CHUNK_BYTES = 256 * 1024

/** Opens a handle. */
export function memoryBlobs({ blobs, unfinished }: MemoryPlace): BlobStore {
  let isClosed = false
  const assertOpen = () => {
    if (isClosed) throw new VaultError('unavailable', 'This blob store is closed. Open a new one.')
  }
  return {
    async write(key, content) {
      assertOpen()
      assertBlobKeys([key])
      const chunks: Uint8Array[] = []
      unfinished.set(key, chunks)
      try {
        for await (const chunk of content) chunks.push(Uint8Array.from(chunk))
        if (unfinished.get(key) !== chunks) throw new VaultError('not_found', 'The blob was deleted while it was written.')
        blobs.set(key, Uint8Array.from(Buffer.concat(chunks)))
      } finally {
        unfinished.delete(key)
      }
    },
    async *read(key, range) {
      assertOpen()
      assertBlobKeys([key])
      assertByteRange(range)
      const bytes = blobs.get(key)
      if (bytes === undefined) throw new VaultError('not_found', 'There is no blob of this key.')
      const end = Math.min(range.end, bytes.length)
      for (let at = range.start; at < end; at += CHUNK_BYTES) {
        assertOpen()
        yield bytes.slice(at, Math.min(end, at + CHUNK_BYTES))
      }
    },
    async delete(keys) {
      assertOpen()
      assertBlobKeys(keys)
      for (const key of keys) {
        blobs.delete(key)
        unfinished.delete(key)
      }
    },
    async close() {
      isClosed = true
    },
  }
}
