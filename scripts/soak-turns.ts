/** Divides the time of a soak among laws. */
import { setTimeout as pause } from 'node:timers/promises'

/** The time of all laws together. */
export interface TurnLimits {
  readonly milliseconds: number
  /** Laws at the same time. */
  readonly jobs: number
  /** Time after its share in which a law may end its last case before the next law begins beside it. */
  readonly overtimeMs: number
}

/**
 * Runs the laws, some at the same time. A law begins with its share of the time that is left, by weight; `run` gets the end of the
 * share, in milliseconds since 1970. Time that a law does not need goes to the laws after it. A case that takes longer than the share
 * ends beside the laws after it, and takes nothing of their time.
 */
export async function takeTurns<Item extends { readonly weight: number }>(
  laws: readonly Item[],
  { milliseconds, jobs, overtimeMs }: TurnLimits,
  run: (law: Item, deadline: number) => Promise<void>,
): Promise<void> {
  const begin = Date.now()
  const end = begin + milliseconds
  const waiting = [...laws]
  const busyUntil = Array.from({ length: Math.min(jobs, laws.length) }, () => begin)
  const begun: Promise<void>[] = []
  const work = async (job: number): Promise<void> => {
    for (let law = waiting.shift(); law !== undefined; law = waiting.shift()) {
      const now = Date.now()
      const weights = [law, ...waiting].reduce((sum, { weight }) => sum + weight, 0)
      const left = busyUntil.reduce(
        (sum, until, other) => sum + Math.max(0, end - (other === job ? now : Math.max(now, until))),
        0,
      )
      const deadline = Math.min(end, now + (left * law.weight) / weights)
      busyUntil[job] = deadline
      const running = run(law, deadline)
      begun.push(running)
      await Promise.race([running, pause(deadline + overtimeMs - now, undefined, { ref: false })])
    }
    busyUntil[job] = end
  }
  await Promise.all(busyUntil.map((_, job) => work(job)))
  await Promise.all(begun)
}
