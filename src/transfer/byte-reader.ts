/** Reads a stream of bytes by the number that is wanted next. */
import { VaultError } from '../core/errors.ts'

export interface ByteReader {
  /** Returns exactly so many bytes, which the caller can keep. Throws `data_loss` if the stream ends before. */
  read(count: number): Promise<Uint8Array>
  /** True if no byte follows. */
  isAtEnd(): Promise<boolean>
  /** Yields all that follows, in place of further reads. */
  rest(): AsyncIterable<Uint8Array>
  /** Ends the stream early. */
  close(): Promise<void>
}

/** Reads a stream. Its own errors are rethrown unchanged. */
export function createByteReader(content: AsyncIterable<Uint8Array>): ByteReader {
  const chunks = content[Symbol.asyncIterator]()
  let rest: Uint8Array = new Uint8Array(0)

  /** Returns false at the end. Afterwards there is a byte to take. */
  async function fill(): Promise<boolean> {
    while (rest.length === 0) {
      const next = await chunks.next()
      if (next.done === true) return false
      rest = next.value
    }
    return true
  }

  return {
    async read(count) {
      // Allocated as it comes: a count can be of a stream that was changed.
      const parts: Uint8Array[] = []
      for (let missing = count; missing > 0; ) {
        if (!(await fill()))
          throw new VaultError('data_loss', 'The backup ends too early. Use another copy of it. Nothing of it opens.')
        const part = rest.slice(0, missing)
        rest = rest.subarray(part.length)
        missing -= part.length
        parts.push(part)
      }
      const [only] = parts
      return only !== undefined && parts.length === 1 ? only : Buffer.concat(parts)
    },
    isAtEnd: async () => !(await fill()),
    async *rest() {
      while (await fill()) {
        const chunk = rest
        rest = rest.subarray(rest.length)
        yield chunk
      }
    },
    async close() {
      await chunks.return?.()
    },
  }
}
