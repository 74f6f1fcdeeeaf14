/** Every law, in the order in which the soak begins them: those with the smallest share of the time first, so that time they leave is used. */
import { connectionCuts } from './connection-cuts.ts'
import { contention } from './contention.ts'
import { failingCalls } from './failing-calls.ts'
import { kills } from './kills.ts'
import type { Law } from './law.ts'
import { noLeak } from './no-leak.ts'
import { nonInterference } from './non-interference.ts'
import { powerLoss } from './power-loss.ts'
import { steadyMemory } from './steady-memory.ts'

export const ALL_LAWS: readonly Law[] = [
  failingCalls,
  connectionCuts,
  powerLoss,
  contention,
  kills,
  noLeak,
  nonInterference,
  steadyMemory,
]
