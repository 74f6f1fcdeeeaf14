/** The one source of pseudo-random test input: all draws follow from a printed seed, so a failing run can be repeated. */
import { createHash } from 'node:crypto'

/** Draws from one seed. Calling it returns a fraction from 0 up to, and without, 1. */
export interface SeededRandom {
  (): number
  /** An integer from 0 up to, and without, `count`; `count` is at most 2^53. */
  below(count: number): number
  /** True with this probability, from 0 to 1. */
  chance(probability: number): boolean
  /** One item of a list. Throws if the list is empty. */
  pick<T>(list: readonly T[]): T
  /** At most `count` items of a list, each at most once, in random order. */
  sample<T>(list: readonly T[], count: number): T[]
  /** A copy of a list in random order. */
  shuffle<T>(list: readonly T[]): T[]
  /** So many random bytes. */
  bytes(count: number): Uint8Array<ArrayBuffer>
  /** Independent draws that follow from this seed and a name. How much was drawn here before does not matter. */
  fork(name: string): SeededRandom
}

/** Draws from a seed. SEED in the environment replaces the seed. */
export function seededRandom(seed: string): SeededRandom {
  return randomFor(process.env.SEED ?? seed)
}

/** Draws from exactly this seed, independent of the environment. For seeds built from the seed of a run and an index. */
export function randomFor(seed: string): SeededRandom {
  const fraction = sfc32(createHash('sha256').update(seed).digest())
  const wide = (): number => fraction() + Math.floor(fraction() * 2 ** 21) / 2 ** 53
  const below = (count: number): number => Math.floor((count <= 2 ** 32 ? fraction() : wide()) * count)
  const pick = <T>(list: readonly T[]): T => {
    const index = below(list.length)
    for (const item of list.slice(index, index + 1)) return item // An item may be undefined, so it is not looked up by index.
    throw new Error('pick needs a list with at least one item')
  }
  const sample = <T>(list: readonly T[], count: number): T[] => {
    const left = [...list]
    const taken: T[] = []
    while (taken.length < count && left.length > 0) taken.push(...left.splice(below(left.length), 1))
    return taken
  }
  return Object.assign(fraction, {
    below,
    pick,
    sample,
    chance: (probability: number) => fraction() < probability,
    shuffle: <T>(list: readonly T[]) => sample(list, list.length),
    bytes: (count: number) => Uint8Array.from({ length: count }, () => below(256)),
    fork: (name: string) => randomFor(`${seed}/${name}`),
  })
}

/** The generator sfc32: 128 bits of state, the same numbers on every machine. */
function sfc32(seed: Buffer): () => number {
  let a = seed.readInt32LE(0)
  let b = seed.readInt32LE(4)
  let c = seed.readInt32LE(8)
  let counter = seed.readInt32LE(12)
  return () => {
    const sum = (a + b + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + sum
    return (sum >>> 0) / 0x1_0000_0000
  }
}
