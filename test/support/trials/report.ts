/** What a trial reports. */
export interface TrialReport {
  /** How many faults were caused, or operations done under them. */
  readonly figure: number
  /** What is wrong, one sentence each; empty if everything held. */
  readonly failures: readonly string[]
  /** What happened, in one line. */
  readonly summary: string
}

/** A trial ends after so many failures: more of the same help nobody. */
export const MAX_FAILURES = 20
