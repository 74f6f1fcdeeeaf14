/** Memory for a few bytes each, which many share: the engine is slow to give short bytes memory of their own, and to free it. */

/** Bytes of one piece of memory, which is freed with the last of its users. More would be kept for one of them. */
const SHARED_BYTES = 8192
/** Longer bytes have memory of their own. */
const MAX_FEW = 1024
const NUMBER_BYTES = Uint32Array.BYTES_PER_ELEMENT

/** Returns zeros of this length that no other call gets. */
export type FewBytes = (length: number) => Uint8Array

/**
 * Returns a function whose bytes share memory with each other, and with nothing else: who has some of them can reach all by `buffer`, and a
 * `postMessage` of some sends all.
 */
export function createFewBytes(): FewBytes {
  let shared = new ArrayBuffer(0)
  let used = 0
  return (length) => {
    if (length > MAX_FEW) return new Uint8Array(length)
    // Not below it either: memory that was transferred has no bytes, and no room for none.
    if (used + length >= shared.byteLength) {
      shared = new ArrayBuffer(SHARED_BYTES)
      used = 0
    }
    const bytes = new Uint8Array(shared, used, length)
    used += length
    return bytes
  }
}

/**
 * Returns zeros that no other call gets. V8 keeps up to 64 bytes inside its heap, and moves them out for the first view or native call, which
 * costs more than all else here. Longer ones have memory of their own, which costs as much. Not for
 * secrets, nor for what the application is given.
 */
export const fewBytes = createFewBytes()

/** As `fewBytes`, for plaintexts that are sealed, or read and then dropped: their memory has nothing that is handed to a storage. */
export const plaintextBytes = createFewBytes()

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

let sharedNumbers = new ArrayBuffer(0)
let usedNumbers = 0

/** Returns a list of zeros that no other call gets, as `fewBytes`. */
export function fewNumbers(count: number): Uint32Array {
  const length = count * NUMBER_BYTES
  if (length > MAX_FEW) return new Uint32Array(count)
  if (usedNumbers + length >= sharedNumbers.byteLength) {
    sharedNumbers = new ArrayBuffer(SHARED_BYTES)
    usedNumbers = 0
  }
  const numbers = new Uint32Array(sharedNumbers, usedNumbers, count)
  usedNumbers += length
  return numbers
}
