/** Contents of uploads as async iterables: in random chunks, and with an end before their end. */
import { createHash } from 'node:crypto'
import type { SeededRandom } from '../random/seeded-random.ts'

/** Random bytes of any length, faster than draws. */
export function randomContent(random: SeededRandom, length: number): Buffer {
  return createHash('shake256', { outputLength: length }).update(random.bytes(16)).digest()
}

/** Yields bytes in chunks of random lengths, of which some are empty. */
export async function* inChunks(bytes: Uint8Array, random: SeededRandom): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; ) {
    const length = random.pick([0, 1, 7, 1000, 65_536, 100_000, 400_000])
    yield bytes.subarray(start, start + length)
    start += length
  }
}

/** Yields so many bytes, and then throws as an upload does that its sender aborts. `chunk` is the length of one chunk. */
export async function* abortedAt(bytes: Uint8Array, end: number, chunk: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < end; start += chunk) yield bytes.subarray(start, Math.min(end, start + chunk))
  throw new Error('The sender is gone.')
}
