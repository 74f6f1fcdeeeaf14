/** Files to scan, with contents and signals that a test controls. */
import type { ScannedFile } from '../../../src/core/ports/blobs.ts'

/** A signal of a scan that runs to its end. */
export function neverAborted(): AbortSignal {
  return new AbortController().signal
}

/** A file of these bytes, in chunks of a length. */
export function fileOf(
  content: string | Uint8Array,
  chunkBytes = 1024 * 1024,
  signal: AbortSignal = neverAborted(),
): ScannedFile {
  const bytes = Buffer.from(content)
  return { content: chunksOf(bytes, chunkBytes), size: bytes.length, signal }
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
