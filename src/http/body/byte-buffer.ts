/** Bytes collected in memory. They are copied together, because a client can send pieces of one byte, and a list of those is a hundred times as large. */

/** Collected bytes. */
export interface ByteBuffer {
  readonly length: number
  append(data: Uint8Array): void
  /** Returns all bytes, and is empty then. */
  take(): Uint8Array
}

/** Returns an empty buffer. */
export function createByteBuffer(): ByteBuffer {
  let bytes = new Uint8Array(1024)
  let length = 0
  return {
    get length() {
      return length
    },
    append(data) {
      if (length + data.length > bytes.length) {
        const larger = new Uint8Array(Math.max(2 * bytes.length, length + data.length))
        larger.set(bytes.subarray(0, length))
        bytes = larger
      }
      bytes.set(data, length)
      length += data.length
    },
    take() {
      const taken = bytes.subarray(0, length)
      bytes = new Uint8Array(0)
      length = 0
      return taken
    },
  }
}
