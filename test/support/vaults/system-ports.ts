/** The system ports of `createVault`, for tests that replace one of them. */
import { contentTypeDetector } from '../../../src/adapters/content-type/detect-content-type.ts'
import { keyRingFactory } from '../../../src/adapters/keys/key-ring-factory.ts'
import { systemEntropy } from '../../../src/adapters/system/system-entropy.ts'
import { systemHash } from '../../../src/adapters/system/system-hash.ts'
import { systemClock, systemScheduler, systemStopwatch, systemTimer } from '../../../src/adapters/system/system-time.ts'

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
