/** Finds the longest time that work holds the event loop, so that nothing else of the process can run. */
import { median } from './median.ts'

/** The longest hold, each in milliseconds. */
export interface Hold {
  /** By the clock: load from other processes counts too. */
  readonly wall: number
  /** By the CPU time of the thread: waiting for the disk does not count, nor does load from other processes. */
  readonly cpu: number
}

export interface EventLoopWatch {
  /** Ends the watch and returns the longest hold. */
  stop(): Hold
}

/** Looks at every turn of a timer that is due every millisecond. */
export function watchEventLoop(): EventLoopWatch {
  const longest = { wall: 0, cpu: 0 }
  let last = readThread()
  const look = (): void => {
    const now = readThread()
    longest.wall = Math.max(longest.wall, now.wall - last.wall)
    longest.cpu = Math.max(longest.cpu, now.cpu - last.cpu)
    last = now
  }
  const timer = setInterval(look, 1)
  return {
    stop() {
      clearInterval(timer)
      look()
      return longest
    },
  }
}

/** Returns the longest hold while `work` runs. Rejects if it does. */
export async function longestHold(work: () => unknown): Promise<Hold> {
  const watch = watchEventLoop()
  let hold: Hold
  try {
    await work()
  } finally {
    hold = watch.stop()
  }
  return hold
}

/** Returns the medians, so that one round that another process delayed does not count. `holds` has at least one item. */
export function medianHold(holds: readonly Hold[]): Hold {
  return { wall: median(holds.map(({ wall }) => wall)), cpu: median(holds.map(({ cpu }) => cpu)) }
}

/** Waits for the next turn of the event loop. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function readThread(): Hold {
  const { user, system } = process.threadCpuUsage()
  return { wall: performance.now(), cpu: (user + system) / 1000 }
}
