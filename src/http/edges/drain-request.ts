/** Receives the rest of a body that is not read. A connection that ended at once could be reset before the client has read its response. */
import type { NodeRequest } from './node-request.ts'

/** Bytes and time for which a client may go on sending after it was answered. */
export const MAX_DRAIN_BYTES = 64 * 1024 * 1024
export const MAX_DRAIN_MS = 5000

/** Drops what the client still sends. Resolves at the end of the body, when the client ends the connection, or after 64 MiB or 5 seconds. */
export function drainRequest(request: NodeRequest): Promise<void> {
  return new Promise((resolve) => {
    let length = 0
    const timer = setTimeout(() => end(), MAX_DRAIN_MS)
    timer.unref()
    const onData = (chunk: Uint8Array | string): void => {
      length += chunk.length
      if (length > MAX_DRAIN_BYTES) end()
    }
    const end = (): void => {
      clearTimeout(timer)
      request.off('data', onData).off('end', end).off('error', end).off('close', end)
      resolve()
    }
    if (request.destroyed || request.readableEnded) return end()
    request.on('data', onData).on('end', end).on('error', end).on('close', end)
    request.resume()
  })
}
