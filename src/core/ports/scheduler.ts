/** What core asks of the event loop. */

/** Lets others have their turn. */
export interface Scheduler {
  /** Resolves in a later turn of the event loop, after input and output that is waiting were seen to. */
  turn(): Promise<void>
}
