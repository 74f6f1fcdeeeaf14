/** Runs one piece of work at a time, in the order of calling. */

export interface Mutex {
  /**
   * Begins work. Undefined if it can go on at once; else a promise that resolves when all work before it has ended. Each `enter` is
   * followed by one `leave`.
   */
  enter(): Promise<void> | undefined
  /** Ends work. */
  leave(): void
}

export function createMutex(): Mutex {
  const waiting: (() => void)[] = []
  let locked = false

  return {
    enter() {
      if (locked) return new Promise<void>((wake) => waiting.push(wake))
      locked = true
      return undefined
    },
    leave() {
      // The lock passes on without a gap, so that a later caller cannot overtake one that waits.
      const next = waiting.shift()
      if (next === undefined) locked = false
      else next()
    },
  }
}
