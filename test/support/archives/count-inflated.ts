/** Counts what the platform decompresses. */
import { vi } from 'vitest'

/** Returns how many bytes came out of the platform's decompression during the work. */
export async function countInflated(work: () => Promise<void>): Promise<number> {
  const Original = globalThis.DecompressionStream
  let count = 0
  class Counting {
    readonly readable: ReadableStream
    readonly writable: WritableStream
    constructor(format: ConstructorParameters<typeof DecompressionStream>[0]) {
      const inner = new Original(format)
      const counter = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          count += chunk.length
          controller.enqueue(chunk)
        },
      })
      this.writable = inner.writable
      this.readable = inner.readable.pipeThrough(counter)
    }
  }
  vi.stubGlobal('DecompressionStream', Counting)
  try {
    await work()
    return count
  } finally {
    vi.unstubAllGlobals()
  }
}
