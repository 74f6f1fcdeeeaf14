/** Finds the longest time that work holds the event loop, so that nothing else of the process can run, and how much of it collected garbage. */
import { PerformanceObserver } from 'node:perf_hooks'
import { median } from './median.ts'

/** The longest hold, each in milliseconds. */
export interface Hold {
  /** By the clock: load from other processes counts too. */
  readonly wall: number
  /** By the CPU time of the thread: waiting for the disk does not count, nor does load from other processes. */
  readonly cpu: number
  /** The part of `wall` in which garbage was collected, and this thread did nothing else. */
  readonly gc: number
}

export interface EventLoopWatch {
  /** Ends the watch and returns the longest hold. */
  stop(): Promise<Hold>
}

/** A part of the time of the process, in milliseconds: a hold, or a collection of garbage. */
export interface Interval {
  readonly start: number
  readonly end: number
}

/** Looks at every turn of a timer that is due every millisecond. */
export function watchEventLoop(): EventLoopWatch {
  const collections: Interval[] = []
  const observer = new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) collections.push({ start: startTime, end: startTime + duration })
  })
  observer.observe({ entryTypes: ['gc'] })
  let longest: Interval = { start: 0, end: 0 }
  let longestCpu = 0
  let last = readThread()
  const look = (): void => {
    const now = readThread()
    if (now.wall - last.wall > longest.end - longest.start) longest = { start: last.wall, end: now.wall }
    longestCpu = Math.max(longestCpu, now.cpu - last.cpu)
    last = now
  }
  const timer = setInterval(look, 1)
  return {
    async stop() {
      clearInterval(timer)
      look()
      // Node reports a collection in a turn after it.
      await nextTurn()
      await nextTurn()
      observer.disconnect()
      return { wall: longest.end - longest.start, cpu: longestCpu, gc: collectedIn(longest, collections) }
    },
  }
}

/** Returns how long collections lasted within an interval. Those of one thread do not overlap. */
export function collectedIn({ start, end }: Interval, collections: readonly Interval[]): number {
  return collections.reduce((sum, one) => sum + Math.max(0, Math.min(end, one.end) - Math.max(start, one.start)), 0)
}

/** Returns the longest hold while `work` runs. Rejects if it does. */
export async function longestHold(work: () => unknown): Promise<Hold> {
  const watch = watchEventLoop()
  let hold: Hold
  try {
    await work()
  } finally {
    hold = await watch.stop()
  }
  return hold
}

/** Returns the medians, so that one round that another process delayed does not count. `holds` has at least one item. */
export function medianHold(holds: readonly Hold[]): Hold {
  const medianOf = (member: keyof Hold): number => median(holds.map((hold) => hold[member]))
  return { wall: medianOf('wall'), cpu: medianOf('cpu'), gc: medianOf('gc') }
}

/** Waits for the next turn of the event loop. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function readThread(): Pick<Hold, 'wall' | 'cpu'> {
  return { wall: performance.now(), cpu: threadCpu() / 1000 }
}

/** Returns the microseconds of CPU of this thread. Node 22 cannot separate threads; there it is that of the process. */
export function threadCpu(): number {
  const read = process.threadCpuUsage ?? process.cpuUsage
  const { user, system } = read()
  return user + system
}
