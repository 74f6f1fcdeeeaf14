/** The dependencies of storing files: they are written and removed outside of the operations' own transactions. */
import type { Barrier } from '../barrier/barrier.ts'
import type { BlobStore, ContentTypeDetector } from '../ports/blobs.ts'
import type { StorageHandle } from '../ports/storage.ts'
import type { Clock, Scheduler } from '../ports/time.ts'

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
