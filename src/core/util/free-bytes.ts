/** Frees long byte strings at once. The garbage collector counts their memory, and when it has grown enough, marks the whole heap to free it. */

/** Shorter ones cost less to collect than to free: the engine keeps the shortest inside its heap. */
const MIN_BYTES = 4096

/**
 * Frees the memory of bytes that nothing else uses or will use. They are empty afterwards. Does nothing for short ones, and for those that are
 * only a part of their memory.
 */
export function freeBytes(bytes: Uint8Array): void {
  if (bytes.length < MIN_BYTES) return
  const { buffer } = bytes
  if (buffer instanceof ArrayBuffer && buffer.byteLength === bytes.length) buffer.transfer(0)
}
