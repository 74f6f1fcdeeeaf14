/** The dependencies of storing files: they are written and removed outside of the operations' own transactions. */
import type { Barrier } from '../barrier/barrier.ts'
import type { BlobStore } from '../ports/blobs.ts'
import type { Clock } from '../ports/clock.ts'
import type { ContentTypeDetector } from '../ports/content-type.ts'
import type { Scheduler } from '../ports/scheduler.ts'
import type { StorageHandle } from '../ports/storage.ts'

/** The files of one vault. */
export interface FileContext {
  readonly barrier: Barrier
  readonly clock: Clock
  readonly scheduler: Scheduler
  /** The storage outside any transaction. */
  readonly storage: StorageHandle
  readonly blobs: BlobStore
  readonly contentTypes: ContentTypeDetector
}
