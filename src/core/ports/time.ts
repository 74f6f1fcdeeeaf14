/** Time as a vault is given it: the clock, turns of the event loop, durations, and work that runs later. */

/** Clock for timestamps, expiry and time limits. */
export interface Clock {
  /** Returns nanoseconds since 1970-01-01T00:00:00Z. May go backwards: callers that need rising times handle it. */
  now(): bigint
}

/** Gives the event loop time for other work during long computations. */
export interface Scheduler {
  /** Resolves in a later turn of the event loop, after pending input and output was handled. A microtask is not enough. */
  yield(): Promise<void>
  /** False where the running code must hold the event loop until a transaction ends. Absent where that is never so. */
  mayTurn?(): boolean
}

/** Measures how long work takes. The clock cannot: it counts in milliseconds, and can be set while the work goes on. */
export interface Stopwatch {
  /** Returns milliseconds with fractions since some moment. Never falls within a process. */
  now(): number
}

/** Runs work later: retries of scans and of transactions, and looks at what other processes left. */
export interface Timer {
  /** Calls back after a time in milliseconds. Keeps the process alive meanwhile only if that is asked for. Returns a function that prevents the call. */
  after(milliseconds: number, callback: () => void, keepsAlive?: boolean): () => void
}
