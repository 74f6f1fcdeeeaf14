/** Memory for a few bytes each, which many share: the engine is slow to give short bytes memory of their own, and to free it. */

/** Bytes of one piece of memory, which is freed with the last of its users. More would be kept for one of them. */
const SHARED_BYTES = 8192
/** Longer bytes have memory of their own. */
const MAX_FEW = 1024

/** Returns zeros of this length that no other call gets. */
export type FewBytes = (length: number) => Uint8Array

/** Returns a view of `length` elements of memory from `start`, in bytes. */
type View<Elements> = (memory: ArrayBuffer, start: number, length: number) => Elements

/** Returns a function whose elements share memory with each other, and with nothing else. Each has `elementBytes`. */
function createFew<Elements>(elementBytes: number, view: View<Elements>): (length: number) => Elements {
  let shared = new ArrayBuffer(0)
  let used = 0
  return (length) => {
    const bytes = length * elementBytes
    if (bytes > MAX_FEW) return view(new ArrayBuffer(bytes), 0, length)
    // A piece is not filled to its end: one that was transferred has no bytes, and so no room for zero bytes either.
    if (used + bytes >= shared.byteLength) {
      shared = new ArrayBuffer(SHARED_BYTES)
      used = 0
    }
    const start = used
    used += bytes
    return view(shared, start, length)
  }
}

/**
 * Returns a function whose bytes share memory with each other, and with nothing else: what has some of them can reach all by `buffer`, and a
 * `postMessage` of some sends all.
 */
export function createFewBytes(): FewBytes {
  return createFew(1, (memory, start, length) => new Uint8Array(memory, start, length))
}

/**
 * Returns zeros that no other call gets. V8 keeps up to 64 bytes inside its heap, and moves them out for the first view or native call, which
 * costs more than all else here. Longer ones have memory of their own, which costs as much. Not for secrets, nor for what the application is given.
 */
export const fewBytes = createFewBytes()

/** As `fewBytes`, for plaintexts that are sealed, or read and then dropped: their memory has nothing that is handed to a storage. */
export const plaintextBytes = createFewBytes()

/** As `fewBytes`, for lists of numbers. */
export const fewNumbers = createFew(
  Uint32Array.BYTES_PER_ELEMENT,
  (memory, start, length) => new Uint32Array(memory, start, length),
)

/** Returns a copy of bytes, as `fewBytes`. */
export function copyFew(bytes: Uint8Array): Uint8Array {
  const copy = fewBytes(bytes.length)
  copy.set(bytes)
  return copy
}

/** Returns bytes that share their memory with nothing, for an application, which can transfer it: the same ones, or a copy. */
export function withOwnMemory(bytes: Uint8Array): Uint8Array {
  return bytes.length === bytes.buffer.byteLength ? bytes : bytes.slice()
}
