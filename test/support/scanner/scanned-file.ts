/** Files to scan, with contents and cancellations that a test controls. */
import type { Cancellation, ScannedFile } from '../../../src/core/ports/scanner.ts'

/** A cancellation that a test can trigger. */
export interface TestCancellation extends Cancellation {
  cancel(): void
  /** Number of callbacks that are registered. */
  readonly listeners: number
}

export function testCancellation(): TestCancellation {
  const callbacks = new Set<() => void>()
  let isCancelled = false
  return {
    get isCancelled() {
      return isCancelled
    },
    get listeners() {
      return callbacks.size
    },
    onCancel(callback) {
      if (isCancelled) callback()
      callbacks.add(callback)
      return () => {
        callbacks.delete(callback)
      }
    },
    cancel() {
      isCancelled = true
      for (const callback of callbacks) callback()
    },
  }
}

/** A file of these bytes, in chunks of a length. */
export function fileOf(
  content: string | Uint8Array,
  chunkBytes = 1024 * 1024,
  cancellation: Cancellation = testCancellation(),
): ScannedFile {
  const bytes = Buffer.from(content)
  return { content: chunksOf(bytes, chunkBytes), size: bytes.length, cancellation }
}

async function* chunksOf(bytes: Uint8Array, chunkBytes: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += chunkBytes) yield bytes.subarray(start, start + chunkBytes)
}

/** A content whose chunks a test counts, and of which it knows whether it was closed. */
export interface WatchedContent extends AsyncIterable<Uint8Array> {
  /** Chunks that were taken. */
  readonly taken: number
  readonly isClosed: boolean
}

/** A content that calls `chunk` for each chunk, from 0, and ends with undefined. */
export function watchedContent(
  chunk: (index: number) => Uint8Array | undefined | Promise<Uint8Array | undefined>,
): WatchedContent {
  let taken = 0
  let isClosed = false
  return {
    get taken() {
      return taken
    },
    get isClosed() {
      return isClosed
    },
    async *[Symbol.asyncIterator]() {
      try {
        for (;;) {
          const next = await chunk(taken)
          if (next === undefined) return
          taken++
          yield next
        }
      } finally {
        isClosed = true
      }
    },
  }
}
