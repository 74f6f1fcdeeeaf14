/** The fixture as `createVault` plugs it in, for tests that open a vault with one part of it replaced. */
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
