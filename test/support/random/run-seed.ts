/** Luck of its own for each of many worlds, so that one that fails can be had again without those before it. */
import { createHash } from 'node:crypto'
import type { Entropy } from '../../../src/core/ports/entropy.ts'
import type { Luck } from './draws.ts'

/** The first world of a run; WORLD in the environment begins at a later one. */
export const FIRST_WORLD = Number(process.env.WORLD ?? 0)

/** The seed of a run: SEED of the environment, in a soak another one each time, else the one given. */
export function runSeed(usual: string): string {
  return process.env.SEED ?? (process.env.SOAK === '1' ? String(Date.now()) : usual)
}

/** The luck of the world of this name. */
export function luckOf(name: string): Luck {
  const digest = createHash('sha256').update(name).digest()
  let [a, b, c, counter] = [0, 4, 8, 12].map((at) => digest.readInt32LE(at)) as [number, number, number, number] // Four in, four out.
  return () => {
    // sfc32: the same seed is the same luck on every machine.
    const sum = (a + b + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + sum
    return (sum >>> 0) / 0x1_0000_0000
  }
}

/** Luck that both vaults share: what is drawn depends on the step, the size and how many of that size were drawn in it. */
export interface SharedLuck extends Entropy {
  begin(step: number): void
}

/** The same luck for whoever names the same seed. */
export function sharedLuck(seed: string): SharedLuck {
  let step = 0
  const drawn = new Map<number, number>()
  return {
    begin(next) {
      step = next
      drawn.clear()
    },
    bytes(count) {
      const number = (drawn.get(count) ?? 0) + 1
      drawn.set(count, number)
      const stream = createHash('shake256', { outputLength: count }).update(`${seed} ${step} ${count} ${number}`)
      return new Uint8Array(stream.digest())
    },
  }
}
