/** Random bytes of the kernel, read at each call. */
import { randomFillSync } from 'node:crypto'
import { openSync, readSync } from 'node:fs'

const DEVICE = '/dev/urandom'

/** The open device; undefined before the first use. */
let device: number | undefined

/**
 * Fills `target` from the kernel. The generator of the platform (`randomFillSync`, `randomBytes`, `getRandomValues`) is OpenSSL's: it
 * keeps its state in this process and reads the kernel once in 65,536 calls or seven minutes, so a restored copy of the process repeats
 * it. Where there is no device, as on Windows, the bytes are from that generator.
 */
export function fillFromKernel(target: Uint8Array): void {
  if (!readDevice(target)) {
    // The application may have closed the descriptor, for example as a daemon does: it is opened again.
    device = undefined
    if (!readDevice(target)) randomFillSync(target)
  }
}

/** Returns false if the device cannot be read. */
function readDevice(target: Uint8Array): boolean {
  try {
    device ??= openSync(DEVICE, 'r')
    return readSync(device, target, 0, target.length, null) === target.length
  } catch {
    return false
  }
}

/** Fills `target` with bytes of both the kernel and the platform's generator, for keys: each protects against a weakness of the other. */
export function fillFresh(target: Uint8Array): void {
  const kernel = new Uint8Array(new ArrayBuffer(target.length))
  fillFromKernel(kernel)
  randomFillSync(target)
  for (const [i, byte] of kernel.entries()) target[i] = (target[i] ?? 0) ^ byte
  kernel.fill(0)
}
