/** Runs one piece of work at a time, in the order of calling. */

export interface Mutex {
  /** Runs work when all work before it has finished, and returns its result. */
  runExclusive<T>(work: () => Promise<T>): Promise<T>
}

export function createMutex(): Mutex {
  const waiting: (() => void)[] = []
  let locked = false

  return {
    async runExclusive(work) {
      if (locked) await new Promise<void>((wake) => waiting.push(wake))
      locked = true
      try {
        return await work()
      } finally {
        // The lock passes on without a gap, so that a later caller cannot overtake one that waits.
        const next = waiting.shift()
        if (next === undefined) locked = false
        else next()
      }
    },
  }
}
