/** The system ports of `createVault`, for tests that replace one of them. */
import { contentTypeDetector } from '../../../src/adapters/content-type/detect-content-type.ts'
import { keyRingFactory } from '../../../src/adapters/keys/key-ring-factory.ts'
import { systemClock } from '../../../src/adapters/system/system-clock.ts'
import { systemEntropy } from '../../../src/adapters/system/system-entropy.ts'
import { systemHash } from '../../../src/adapters/system/system-hash.ts'
import { systemScheduler } from '../../../src/adapters/system/system-scheduler.ts'
import { systemStopwatch } from '../../../src/adapters/system/system-stopwatch.ts'
import { systemTimer } from '../../../src/adapters/system/system-timer.ts'

export const SYSTEM_PORTS = {
  clock: systemClock,
  entropy: systemEntropy,
  keyRingFactory,
  hash: systemHash,
  scheduler: systemScheduler,
  stopwatch: systemStopwatch,
  timer: systemTimer,
  contentTypes: contentTypeDetector,
} as const
