/** Collects the chunks of a body in one buffer, within a limit. */
import { bodyTooLong } from '../body/body-errors.ts'

/** The bytes that arrived. */
export interface CollectedBody {
  /** Throws `limit_exceeded` for a chunk with which the body is longer than the limit. */
  add(chunk: Uint8Array): void
  bytes(): Uint8Array
}

const EMPTY: Uint8Array = new Uint8Array()

/**
 * Returns an empty body. It takes at most twice the bytes that arrived, and while it grows three times as much: chunks of one byte are copied
 * together, and an announced length that never arrives takes nothing.
 */
export function collectBody(maxBytes: number): CollectedBody {
  let collected = EMPTY
  let length = 0
  return {
    add(chunk) {
      const end = length + chunk.length
      if (end > maxBytes) throw bodyTooLong(maxBytes)
      // Most bodies are one chunk, which is not copied.
      if (length === 0) collected = chunk
      else {
        if (end > collected.length) collected = grown(collected, Math.min(maxBytes, Math.max(2 * collected.length, end)))
        collected.set(chunk, length)
      }
      length = end
    },
    bytes: () => (length === collected.length ? collected : collected.subarray(0, length)),
  }
}

function grown(bytes: Uint8Array, length: number): Uint8Array {
  const larger = new Uint8Array(length)
  larger.set(bytes)
  return larger
}
