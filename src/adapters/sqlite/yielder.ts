/** Gives the event loop its turns: the driver answers at once, so calls that follow each other would hold it as one long call does. */

/** Knows how long the event loop has not turned. All reads of a handle share one. */
export interface Yielder {
  /** True when the event loop has been held for so long that it must turn. */
  isDue(): boolean
  /** Waits for the next turn. */
  yield(): Promise<void>
  /** Waits for a turn that no other caller of this gets: work that goes on for as long as it may must not follow other such work. */
  ownTurn(): Promise<void>
}

/** How long reads may follow each other before the yielder looks whether the event loop turns by itself, and then until it must. */
const MAX_HOLD_MS = 4

export function createYielder(): Yielder {
  let turned = performance.now()
  /** When the look began; undefined if none is under way. */
  let lookedSince: number | undefined
  /** Ends with the last turn that was promised to one caller. */
  let lastOwn: Promise<void> = Promise.resolve()

  async function nextTurn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    noteTurn()
  }

  function noteTurn(): void {
    turned = performance.now()
    lookedSince = undefined
  }

  return {
    isDue() {
      const now = performance.now()
      if (now - turned < MAX_HOLD_MS) return false
      // The event loop may have turned while nothing was read: a read that comes alone must not wait for a turn.
      if (lookedSince === undefined) {
        lookedSince = now
        setImmediate(noteTurn)
        return false
      }
      return now - lookedSince >= MAX_HOLD_MS
    },
    yield: nextTurn,
    ownTurn() {
      lastOwn = lastOwn.then(nextTurn)
      return lastOwn
    },
  }
}

/** Of a transaction in which the event loop must not turn. */
export const NO_TURNS: Yielder = {
  isDue: () => false,
  yield: () => Promise.resolve(),
  ownTurn: () => Promise.resolve(),
}
