/** Runs work on a list in slices of a limited number of bytes, with a turn of the event loop between two of them. */
import type { Scheduler } from '../ports/time.ts'

/** The length of a list, and the bytes that decide how long the work on an item takes. */
export interface SlicedList {
  readonly count: number
  bytesAt(index: number): number
}

/** Work on the items from `start` to `end` (exclusive). */
type SliceWork<Result> = (start: number, end: number) => Result[] | Promise<Result[]>

/** Bytes of a slice. An item of more is a slice of its own. */
const MAX_BYTES = 256 * 1024

/** Returns the results of the work on each slice, in order. A list that is one slice takes no turn, and is no promise unless the work is. */
export function inSlices<Result>(list: SlicedList, scheduler: Scheduler, work: SliceWork<Result>): Result[] | Promise<Result[]> {
  const end = endFrom(list, 0)
  return end === list.count ? work(0, end) : workOnEach(list, scheduler, work)
}

async function workOnEach<Result>(list: SlicedList, scheduler: Scheduler, work: SliceWork<Result>): Promise<Result[]> {
  const results: Result[] = []
  for (let start = 0; start < list.count; ) {
    if (start > 0) await scheduler.yield()
    const end = endFrom(list, start)
    for (const result of await work(start, end)) results.push(result)
    start = end
  }
  return results
}

function endFrom(list: SlicedList, start: number): number {
  let end = start
  for (let bytes = 0; end < list.count; end++) {
    bytes += list.bytesAt(end)
    if (bytes > MAX_BYTES && end > start) return end
  }
  return end
}
