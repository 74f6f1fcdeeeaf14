/** Memory for a few bytes each, which many share: the engine is slow to give short bytes memory of their own. */

/** Bytes of one piece of memory, which is freed with the last of its users. More would be kept for one of them. */
const SHARED_BYTES = 8192
/** Longer bytes have memory of their own. */
const MAX_FEW = 256

let shared = new ArrayBuffer(0)
let used = 0

/**
 * Returns zeros that no other call gets. V8 keeps up to 64 bytes inside its heap, and moves them out for the first view or native call, which
 * costs more than all else here. Others can reach the bytes by `buffer`: not for secrets that outlive the call, nor for what the application is given.
 */
export function fewBytes(length: number): Uint8Array {
  if (length > MAX_FEW) return new Uint8Array(length)
  if (used + length > shared.byteLength) {
    shared = new ArrayBuffer(SHARED_BYTES)
    used = 0
  }
  const bytes = new Uint8Array(shared, used, length)
  used += length
  return bytes
}
