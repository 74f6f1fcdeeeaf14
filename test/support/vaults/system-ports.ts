/** The system ports of `createVault`, for tests that replace one of them. */
import { contentTypeDetector } from '../../../src/adapters/content-type/detect-content-type.ts'
import { keyRingFactory } from '../../../src/adapters/keys/key-ring-factory.ts'
import {
  systemClock,
  systemEntropy,
  systemHash,
  systemProcess,
  systemScheduler,
  systemStopwatch,
  systemTimer,
} from '../../../src/adapters/system/system.ts'
import type { Timer } from '../../../src/core/ports/time.ts'

export const SYSTEM_PORTS = {
  clock: systemClock,
  entropy: systemEntropy,
  keyRingFactory,
  hash: systemHash,
  scheduler: systemScheduler,
  stopwatch: systemStopwatch,
  timer: systemTimer,
  contentTypes: contentTypeDetector,
  process: systemProcess,
} as const

/** A timer that never calls back: a vault with it does nothing in the background, however long its test takes. */
export const STOPPED_TIMER: Timer = { after: () => () => {} }
