/** A queue of one: whoever holds the turn works alone, the others wait in the order they came. */

export interface Turns {
  /** Runs work when everyone before has finished, and answers what it answers. */
  take<T>(work: () => Promise<T>): Promise<T>
}

export function createTurns(): Turns {
  const waiting: (() => void)[] = []
  let taken = false

  return {
    async take(work) {
      if (taken) await new Promise<void>((wake) => waiting.push(wake))
      taken = true
      try {
        return await work()
      } finally {
        // Handed over without a gap, so that nobody who comes later slips in before the one who waits.
        const next = waiting.shift()
        if (next === undefined) taken = false
        else next()
      }
    },
  }
}
