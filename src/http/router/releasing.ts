/** Chunks of a response, after which something is released. */

/** Returns the chunks. Release is called once: at their end, at an error, or when the reader ends them, also before the first one. The error is passed on. */
export function releasing(
  chunks: AsyncIterable<Uint8Array>,
  release: () => void,
  onError: (error: unknown) => void,
): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = chunks[Symbol.asyncIterator]()
      return {
        async next() {
          try {
            const result = await iterator.next()
            if (result.done === true) release()
            return result
          } catch (error) {
            release()
            onError(error)
            throw error
          }
        },
        async return() {
          try {
            await iterator.return?.()
          } finally {
            release()
          }
          return { done: true, value: undefined }
        },
      }
    },
  }
}
