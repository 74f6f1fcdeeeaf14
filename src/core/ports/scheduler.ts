/** Gives the event loop time for other work during long computations. */
export interface Scheduler {
  /** Resolves in a later turn of the event loop, after pending input and output was handled. A microtask is not enough. */
  yield(): Promise<void>
  /** True where the running code must hold the event loop until a transaction ends. Absent where that is never so. */
  mustNotTurn?(): boolean
}
