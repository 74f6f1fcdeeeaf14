/** Keys, contents and reads that the conformance cases of blob stores share. */

import type { BlobStore, ByteRange } from '../../core/ports/blobs.ts'
import { sameBytes } from '../../core/util/bytes.ts'
import { assert } from '../assert.ts'

export const KIB = 1024
export const MIB = 1024 * KIB
/** Longer than any store puts into one row, block or part. */
export const LARGE = 9 * MIB + 12_345
/** The end of a range that no blob reaches. */
export const BEYOND = 1024 * MIB

/** A key: 32 hex digits that begin with these of `number`, as keys of random bytes are spread. */
export function keyOf(number: number): string {
  return (
    ((number * 0x9e37_79b1) >>> 0).toString(16).padStart(8, '0').padEnd(24, '0123456789abcdef') +
    number.toString(16).padStart(8, '0')
  )
}

/** Bytes that differ at every position and between blobs, so that no mistaken piece looks right. */
export function sampleBytes(length: number, seed = 1): Uint8Array {
  const words = new Uint32Array(Math.ceil(length / 4))
  let state = (seed * 0x9e37_79b1) >>> 0 || 1
  for (let i = 0; i < words.length; i++) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    words[i] = state
  }
  return new Uint8Array(words.buffer, 0, length)
}

/** Yields the bytes in chunks of these lengths, taken in turn. */
export async function* inChunks(bytes: Uint8Array, ...lengths: readonly number[]): AsyncGenerator<Uint8Array> {
  for (let start = 0, turn = 0; start < bytes.length; turn++) {
    const length = lengths[turn % lengths.length] ?? bytes.length
    yield bytes.slice(start, start + length)
    start += length
  }
}

/** Stores the bytes as the blob of a key. */
export function put(store: BlobStore, key: string, bytes: Uint8Array): Promise<void> {
  return store.write(key, inChunks(bytes, 64 * KIB + 40))
}

/** Reads a range, by default the whole blob. */
export async function read(store: BlobStore, key: string, range: ByteRange = { start: 0, end: BEYOND }): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for await (const chunk of store.read(key, range)) chunks.push(chunk)
  const bytes = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}

/** Asserts that two byte strings are equal. */
export function assertBytes(actual: Uint8Array, expected: Uint8Array, what = 'the blob'): void {
  assert(actual.length === expected.length, `${what} should have ${expected.length} bytes and has ${actual.length}`)
  assert(sameBytes(actual, expected), `${what} should be equal to what was written and has other bytes`)
}

/** How a write ended. */
type WriteEnd = { readonly kind: 'written' } | { readonly kind: 'failed'; readonly error: unknown }

/** A write that waits: its content gives `first`, and the rest when it is released. */
interface PausedWrite {
  /** Resolves once the store asks for more than `first`, or has given up. */
  readonly isPaused: Promise<void>
  release(): void
  /** The result of the write. */
  readonly end: Promise<WriteEnd>
}

/** Begins a write and pauses it after its first bytes. */
export function pausedWrite(store: BlobStore, key: string, first: Uint8Array, rest: Uint8Array): PausedWrite {
  let paused = () => {}
  let release = () => {}
  const isPaused = new Promise<void>((resolve) => {
    paused = resolve
  })
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  async function* content(): AsyncGenerator<Uint8Array> {
    yield* inChunks(first, 64 * KIB)
    paused()
    await released
    yield* inChunks(rest, 64 * KIB)
  }
  const end = store
    .write(key, content())
    .then(
      (): WriteEnd => ({ kind: 'written' }),
      (error: unknown): WriteEnd => ({ kind: 'failed', error }),
    )
    .finally(paused)
  return { isPaused, release, end }
}
