/** What a trial reports, and how a law reads it. */

export interface TrialReport {
  /** How many faults were caused, or operations done under them. */
  readonly figure: number
  /** What is wrong, one sentence each; empty if everything held. */
  readonly failures: readonly string[]
  /** What happened, in one line. */
  readonly summary: string
}

/** A trial ends after so many failures: more of the same add nothing. */
export const MAX_FAILURES = 20

/** The figure of a case. Throws if anything is wrong. */
export function figureOf({ figure, failures, summary }: TrialReport): number {
  if (failures.length > 0) throw new Error(`${summary}\n${failures.join('\n')}`)
  return figure
}
