/** The median: the figure of a measurement over its rounds, which a few slow rounds do not move. */
import { at } from '../../src/core/util/lists.ts'

/** Returns the middle value, or the mean of the two middle values. Throws if the list is empty. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new Error('An empty list has no median.')
  const sorted = values.toSorted((left, right) => left - right)
  const half = sorted.length / 2
  return (at(sorted, Math.floor(half)) + at(sorted, Math.ceil(half) - 1)) / 2
}
