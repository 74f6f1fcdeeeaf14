/** Pseudo-random numbers from a printed seed, so that a failing run can be had again. */
import { createHash } from 'node:crypto'

/** Numbers from 0 up to 1. SEED in the environment takes the place of the seed given. */
export function seededRandom(seed: string): () => number {
  let state = createHash('sha256')
    .update(process.env.SEED ?? seed)
    .digest()
    .readUInt32BE(0)
  return () => {
    // mulberry32: small, and good enough to pick test inputs with.
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }
}
