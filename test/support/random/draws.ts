/** Draws from seeded luck. */

/** Numbers from 0 up to 1. */
export type Luck = () => number

/** A whole number from 0 up to, and without, `count`. */
export function below(luck: Luck, count: number): number {
  return Math.floor(luck() * count)
}

/** True in that part of all draws. */
export function chance(luck: Luck, part: number): boolean {
  return luck() < part
}

/** One of a list that is not empty. */
export function pick<T>(luck: Luck, list: readonly T[]): T {
  if (list.length === 0) throw new Error('there is nothing to pick from')
  return list[below(luck, list.length)] as T // The place is within the list.
}

/** Some of a list, each at most once, in an order of luck. */
export function some<T>(luck: Luck, list: readonly T[], count: number): T[] {
  const left = [...list]
  const taken: T[] = []
  while (taken.length < count && left.length > 0) taken.push(...left.splice(below(luck, left.length), 1))
  return taken
}
