/** The dependencies of reading, verifying, exporting and signing the audit trail, outside any transaction. */
import type { Barrier } from '../barrier/barrier.ts'
import type { Hash } from '../ports/crypto.ts'
import type { Storage } from '../ports/storage.ts'
import type { Clock, Scheduler } from '../ports/time.ts'
import type { EventStore, KnownCatalog } from './event-store.ts'

/** The audit trail of one vault. */
export interface AuditContext {
  readonly storage: Storage
  readonly events: EventStore
  readonly barrier: Barrier
  readonly catalog: KnownCatalog
  readonly clock: Clock
  readonly hash: Hash
  readonly scheduler: Scheduler
  readonly vaultID: string
  readonly accountID: string
}
