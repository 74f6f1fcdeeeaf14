/** The system ports of `createVault`, for tests that replace one of them. */
import { keyEngine } from '../../../src/adapters/keys/key-engine.ts'
import { systemClock } from '../../../src/adapters/system/system-clock.ts'
import { systemEntropy } from '../../../src/adapters/system/system-entropy.ts'
import { systemHash } from '../../../src/adapters/system/system-hash.ts'
import { systemScheduler } from '../../../src/adapters/system/system-scheduler.ts'

export const SYSTEM_PORTS = {
  clock: systemClock,
  entropy: systemEntropy,
  engine: keyEngine,
  hash: systemHash,
  scheduler: systemScheduler,
} as const
