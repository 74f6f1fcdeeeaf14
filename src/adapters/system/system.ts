/** What a vault is given of this machine: random bytes, SHA-256, the clocks and timers, turns of the event loop, and the name of the process. */
import { hash, randomFillSync } from 'node:crypto'
import { openSync, readSync } from 'node:fs'
import { hostname } from 'node:os'
import { VaultError } from '../../core/errors.ts'
import { type Entropy, HASH_BYTES, type Hash } from '../../core/ports/crypto.ts'
import type { Clock, Scheduler, Stopwatch, Timer } from '../../core/ports/time.ts'
import { type Slab, slabItem } from '../../core/util/memory.ts'

const POOL_BYTES = 16_384
/** Length of the requests that can become a key, in bytes: each is drawn alone, also from the kernel. */
const KEY_BYTES = 32
/** Maximum number of bytes taken from the pool. Larger requests are drawn alone. */
const MAX_POOLED_BYTES = 1024

/** The default source of random bytes. */
export const systemEntropy: Entropy = createEntropy()

function createEntropy(): Entropy {
  let pool: Uint8Array | undefined
  let used = 0
  return {
    bytes(count) {
      if (count === KEY_BYTES) return freshKey()
      if (count > MAX_POOLED_BYTES) return randomFillSync(new Uint8Array(count))
      if (pool === undefined || used + count > POOL_BYTES) {
        pool = randomFillSync(pool ?? new Uint8Array(POOL_BYTES))
        used = 0
      }
      const taken = takeFrom(pool, used, count)
      used += count
      return taken
    },
  }
}

/** Returns bytes of the pool. They can become part of a token, so the pool keeps no copy. Most are few, and a loop costs half of two calls for them. */
function takeFrom(pool: Uint8Array, from: number, count: number): Uint8Array {
  const taken = new Uint8Array(count)
  for (let i = 0; i < count; i++) {
    taken[i] = pool[from + i] ?? 0 // Exists: the pool has so many bytes left.
    pool[from + i] = 0
  }
  return taken
}

/** Returns bytes that a restored copy of the process does not repeat, in memory of their own. */
function freshKey(): Uint8Array {
  const key = new Uint8Array(new ArrayBuffer(KEY_BYTES))
  fillFresh(key)
  return key
}

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

/**
 * Throws `failed_precondition` if bytes of Node and of drivers are not `instanceof Uint8Array` here. They would be taken for something else: stored
 * bytes for none, uploads for no file.
 */
export function assertByteClass(): void {
  if (Buffer.alloc(0) instanceof Uint8Array) return
  throw new VaultError(
    'failed_precondition',
    'The Uint8Array of this global scope is not the one of the runtime, as in the test environment jsdom, so stored bytes cannot be recognized. ' +
      'Use the environment node: begin the file with a comment that has @vitest-environment node, or for Jest @jest-environment node.',
  )
}

/** The default hash. Digests come as text of one character for each byte: the platform returns that in half the time of a buffer. */
export const systemHash: Hash = {
  sha256(inputs) {
    const hashes = new Uint8Array(inputs.count * HASH_BYTES)
    for (let i = 0; i < inputs.count; i++) {
      const digest = hash('sha256', inputs.count === 1 ? wholeOrItem(inputs) : slabItem(inputs, i), 'binary')
      for (let at = 0; at < HASH_BYTES; at++) hashes[i * HASH_BYTES + at] = digest.charCodeAt(at)
    }
    return hashes
  },
}

/** Returns the only input, without a view of its own if it is the whole slab, as for nearly all hashes. */
function wholeOrItem(inputs: Slab): Uint8Array {
  return inputs.ends[0] === inputs.bytes.length ? inputs.bytes : slabItem(inputs, 0)
}

const NANOSECONDS_PER_MILLISECOND = 1_000_000n

/** Returns a clock for a source of milliseconds since 1970. */
export function createClock(milliseconds: () => number): Clock {
  let last = 0n
  return {
    now() {
      const wall = BigInt(Math.floor(milliseconds())) * NANOSECONDS_PER_MILLISECOND
      // Strictly rising within the process, even if the wall clock is set back, because times order events.
      last = wall > last ? wall : last + 1n
      return last
    },
  }
}

/** The default clock. */
export const systemClock: Clock = createClock(Date.now)

/** The default scheduler. It yields by `setImmediate`, which runs after pending input and output. */
export const systemScheduler: Scheduler = {
  yield: () =>
    new Promise((resolve) => {
      setImmediate(resolve)
    }),
}

/** The default stopwatch. */
export const systemStopwatch: Stopwatch = { now: () => performance.now() }

/** Maximum delay of a timer of Node, in milliseconds. A longer one would fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1

/** The default timer. */
export const systemTimer: Timer = {
  after(milliseconds, callback, keepsAlive = false) {
    const timer = setTimeout(callback, Math.min(milliseconds, MAX_DELAY_MS))
    if (!keepsAlive) timer.unref()
    return () => clearTimeout(timer)
  },
}

/** Names this process among those of all hosts. */
export const systemProcess = `${hostname()}:${process.pid}`
