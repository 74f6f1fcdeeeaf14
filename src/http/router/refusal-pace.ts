/** The pace of refusals: one for a vault that does not exist takes as long as one that a vault records, so that no time shows which vaults exist. */
import { randomInt } from 'node:crypto'

/** How long refusals take. */
export interface RefusalPace {
  /** Does the work of recording a refusal, and keeps the time that it took. */
  recording(work: () => Promise<void>): Promise<void>
  /** Waits for as long as one of the last recordings took. */
  withoutVault(): Promise<void>
}

/** How times are measured and waited for, in milliseconds. Default: by the system. */
export interface PaceTimer {
  now(): number
  wait(milliseconds: number): Promise<void>
}

/** The number of times that are kept. */
const KEPT = 32
/** What is waited for before anything was recorded, in milliseconds. */
const FIRST_MS = 3
/** A longer recording is that of a storage in trouble. */
const MAX_MS = 250

/** Returns the pace of one handler. */
export function createRefusalPace({ now, wait }: PaceTimer = SYSTEM): RefusalPace {
  const kept = [FIRST_MS]
  let next = 0
  return {
    async recording(work) {
      const start = now()
      await work()
      kept[next] = Math.min(now() - start, MAX_MS)
      next = (next + 1) % KEPT
    },
    // Any of them, and not their mean, because the times of refusals differ too.
    withoutVault: () => wait(kept[randomInt(kept.length)] ?? FIRST_MS),
  }
}

const SYSTEM: PaceTimer = {
  now: () => performance.now(),
  wait: (milliseconds) => new Promise((resolve) => void setTimeout(resolve, milliseconds)),
}
