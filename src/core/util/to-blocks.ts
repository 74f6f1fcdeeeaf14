/** Regroups streamed bytes into blocks of one size, with memory for these blocks and no more. */
import { VaultError } from '../errors.ts'

/** The size of the blocks, and how many are in memory. */
export interface BlockOptions {
  readonly size: number
  /** A block stays unchanged until this many later ones are asked for. Default 1. */
  readonly buffers?: number
}

/** Bytes of the first buffer at first, because most contents are short, and how often as many it gets when they do not fit. */
const FIRST_CAPACITY = 64 * 1024
const GROWTH = 16

/**
 * Yields the bytes in blocks of exactly `size`. The last one is shorter, and empty if the bytes fill the others. Each is a view of a
 * buffer that is used again. Reads no byte ahead of the block that was asked for, except for the rest of a chunk.
 */
export async function* toBlocks(
  content: AsyncIterable<Uint8Array>,
  { size, buffers = 1 }: BlockOptions,
): AsyncGenerator<Uint8Array, void, void> {
  const pool: Uint8Array[] = [new Uint8Array(Math.min(size, FIRST_CAPACITY))]
  let turn = 0
  let length = 0
  for await (const chunk of content) {
    for (let from = 0; from < chunk.length; ) {
      const taken = Math.min(chunk.length - from, size - length)
      const buffer = withCapacity(pool[turn] ?? new Uint8Array(size), { length, needed: length + taken, size })
      pool[turn] = buffer
      buffer.set(chunk.subarray(from, from + taken), length)
      from += taken
      length += taken
      if (length < size) continue
      yield buffer
      turn = (turn + 1) % buffers
      length = 0
    }
  }
  yield (pool[turn] ?? new Uint8Array()).subarray(0, length)
}

/** The buffer, or a longer one that begins with the same bytes. */
function withCapacity(
  buffer: Uint8Array,
  { length, needed, size }: { readonly length: number; readonly needed: number; readonly size: number },
): Uint8Array {
  if (needed <= buffer.length) return buffer
  const longer = new Uint8Array(Math.min(size, Math.max(needed, buffer.length * GROWTH)))
  longer.set(buffer.subarray(0, length))
  return longer
}

/** Content whose own errors can be distinguished from those of a store. */
export interface WatchedContent extends AsyncIterable<Uint8Array> {
  /** True if the content threw this. */
  hasThrown(error: unknown): boolean
}

/** Returns the content, and remembers what it throws. A chunk that is no byte string counts as such an error. */
export function watchContent(content: AsyncIterable<Uint8Array>): WatchedContent {
  const thrown = new Set<unknown>()
  return {
    hasThrown: (error) => thrown.has(error),
    async *[Symbol.asyncIterator]() {
      const chunks = content[Symbol.asyncIterator]()
      let isEnded = false
      try {
        for (;;) {
          const next = await chunks.next()
          if (next.done === true) break
          if (!(next.value instanceof Uint8Array)) throw new VaultError('internal', 'A chunk of the content is no Uint8Array.')
          yield next.value
        }
        isEnded = true
      } catch (error) {
        isEnded = true
        thrown.add(error)
        throw error
      } finally {
        if (!isEnded) await chunks.return?.()
      }
    },
  }
}
