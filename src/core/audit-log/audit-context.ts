/** The audit trail as it is read, verified, exported and signed: outside any transaction. */
import type { Barrier } from '../barrier/barrier.ts'
import type { Clock } from '../ports/clock.ts'
import type { Hash } from '../ports/hash.ts'
import type { Scheduler } from '../ports/scheduler.ts'
import type { Storage } from '../ports/storage.ts'
import type { EventStore } from './event-store.ts'

/** What reading the trail of one vault uses. */
export interface AuditContext {
  readonly storage: Storage
  readonly events: EventStore
  readonly barrier: Barrier
  readonly clock: Clock
  readonly hash: Hash
  readonly scheduler: Scheduler
  readonly vaultID: string
  readonly accountID: string
}
