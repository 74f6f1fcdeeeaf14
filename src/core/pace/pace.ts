/** Gives the event loop its turns within long work: when one is due, how many rows a slice can have, and work that is done a slice at a time. */
import type { Clock, Scheduler } from '../ports/time.ts'

/** The pace of work that goes on in one turn of the event loop after the other. */
export interface Pace {
  /** True if the work has held the event loop for a few milliseconds. */
  isDue(): boolean
  /** Call after each part of the work, with its bytes where they decide how long it takes: clocks can be coarse. Gives the event loop a turn if one is due. */
  worked(bytes?: number): Promise<void>
  /** Gives the event loop a turn. */
  turn(): Promise<void>
  /** The number of rows of the next slice of work that takes a turn after each: as many as a few milliseconds allow, by how long the last one took. */
  size(): number
}

/** Work between two turns: whichever of both is reached first. A part of the work can exceed it by its own length. */
const MAX_HELD_NS = 5_000_000n
const MAX_HELD_BYTES = 256 * 1024

/** Bounds in nanoseconds: slices that take less grow, and those that take more shrink. */
const SHORT_NS = 3_000_000n
const LONG_NS = 8_000_000n
/** Rows of the first slice. It is small, because each row can be large. */
const FIRST_SIZE = 16
const MAX_SIZE = 1000

/** Creates the pace of work that begins now. A turn is due after `maxHeldNs` nanoseconds. */
export function createPace(
  { clock, scheduler }: { readonly clock: Clock; readonly scheduler: Scheduler },
  maxHeldNs = MAX_HELD_NS,
): Pace {
  let began = clock.now()
  let done = 0
  let size = FIRST_SIZE
  const isDue = (): boolean => clock.now() - began >= maxHeldNs
  const turn = async (): Promise<void> => {
    size = nextSize(size, clock.now() - began)
    await scheduler.yield()
    began = clock.now()
    done = 0
  }
  return {
    isDue,
    turn,
    async worked(bytes = 0) {
      done += bytes
      if (done >= MAX_HELD_BYTES || isDue()) await turn()
    },
    size: () => size,
  }
}

function nextSize(size: number, tookNs: bigint): number {
  if (tookNs > LONG_NS) return Math.max(1, size >> 1)
  return tookNs < SHORT_NS ? Math.min(MAX_SIZE, size * 2) : size
}

/** The length of a list, and the bytes that decide how long the work on an item takes. */
export interface SlicedList {
  readonly count: number
  bytesAt(index: number): number
}

/** Work on the items from `start` to `end` (exclusive). */
type SliceWork<Result> = (start: number, end: number) => Result[] | Promise<Result[]>

/**
 * Returns the results of the work on each slice of a list, in order, with a turn of the event loop between two of them. A slice has at most 256 KiB
 * and at least one item. A list that is one slice takes no turn, and is no promise unless the work is.
 */
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
    if (bytes > MAX_HELD_BYTES && end > start) return end
  }
  return end
}

/** Does all work, with a turn of the event loop between two slices. `workSome` does one, and returns false after the last. */
export async function workInTurns(scheduler: Scheduler, workSome: () => boolean): Promise<void> {
  while (workSome()) await scheduler.yield()
}

/**
 * Does work while something else is waited for, such as a storage in another process. Resolves when `waited` has resolved and all work is done, a
 * slice in a turn of the event loop. If waiting takes longer than a turn, the work begins in that time, else after it. Rejects like `waited`,
 * whatever the work did, and no further slice is done then. A slice that throws is done again after `waited`. A storage that answers at once has
 * held the event loop itself, so a slice after it waits for a turn.
 */
export async function meanwhile(
  pace: Pick<Pace, 'turn' | 'worked'>,
  waited: Promise<void>,
  workSome: () => boolean,
): Promise<void> {
  let isOver = false
  let isDone = false
  async function workEarly(): Promise<void> {
    while (!isDone) {
      // What is waited for is sent within this turn, and the work would hold it up.
      await pace.turn()
      if (isOver) return
      isDone = !workSome()
    }
  }
  workEarly().catch(() => {})
  try {
    await waited
  } finally {
    isOver = true
  }
  await pace.worked()
  while (!isDone && workSome()) await pace.turn()
}
