/** Row ids that were taken from a counter in blocks and are not given out yet: what is left of the blocks, as ranges. */
import { append } from '../../core/util/lists.ts'

/** Ids from `from` to `to`, both included. */
export interface IdRange {
  from: number
  readonly to: number
}

/** The ids of one table, rising. They have one owner: a process, a transaction or a savepoint. */
export type IdRanges = IdRange[]

export function countIds(ranges: IdRanges): number {
  let count = 0
  for (const { from, to } of ranges) count += to - from + 1
  return count
}

/** Takes the lowest ids, so many of them or all. Returns them in rising order. */
export function takeIds(ranges: IdRanges, most: number): number[] {
  const ids: number[] = []
  for (let range = ranges[0]; range !== undefined && ids.length < most; range = ranges[0]) {
    while (range.from <= range.to && ids.length < most) ids.push(range.from++)
    if (range.from > range.to) ranges.shift()
  }
  return ids
}

export function addIds(ranges: IdRanges, more: readonly IdRange[]): void {
  append(ranges, more)
  ranges.sort((left, right) => left.from - right.from)
}

/** Drops the ids up to this one. Returns whether there were any. */
export function dropIdsUpTo(ranges: IdRanges, last: number): boolean {
  let hasDropped = false
  for (let range = ranges[0]; range !== undefined && range.from <= last; range = ranges[0]) {
    hasDropped = true
    if (range.to <= last) ranges.shift()
    else range.from = last + 1
  }
  return hasDropped
}
