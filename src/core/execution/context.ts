/** The dependencies of operations: the session of one caller, and the unit of work and event of one operation. */
import type { AuditTrail } from '../audit-log/audit-trail.ts'
import type { CatalogFence } from '../catalog/catalog-fence.ts'
import type { ListedCredential } from '../credentials/credential-store.ts'
import type { FileContext } from '../file-store/file-rows.ts'
import type { QueryLimits } from '../limits.ts'
import type { Caller } from '../policy/caller.ts'
import type { Policy } from '../policy/compile-policy.ts'
import type { Access } from '../policy/create-access.ts'
import type { Log, Tracing } from '../ports/observability.ts'
import type { ReadCosts } from '../queries/candidate-rows.ts'
import type { ReadingContext } from '../row-access/evaluate-access.ts'
import type { SchemaDescription } from '../schema/describe-schema.ts'
import type { HeadCache } from '../sealed-index/index-rows.ts'
import type { IndexNotes } from '../unit-of-work/delta-batch.ts'
import type { UnitFactory, UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import type { EventBuilder } from './event-builder.ts'
import type { JoinedCalls } from './joined-calls.ts'
import type { Lifetime } from './lifetime.ts'
import type { Measuring } from './measured.ts'

/** Limits that the application can set. docs/reliability.md lists their ranges. */
export interface Limits extends QueryLimits {
  /** Maximum number of records, ids or tokens in one request. Default 1,000. */
  readonly maxRecords: number
  /**
   * Maximum number of values of any kind in one value of a JSON or ARRAY column, the value itself included. All that a request writes or looks up can have ten times as
   * many. Default 10,000.
   */
  readonly maxJsonMembers: number
  /** Maximum number of records of one page. Default 1,000. */
  readonly maxPageSize: number
  /** Rows that a query can read, of all tables together, if its own `budget.maxRows` says nothing else. Default 1,000,000. */
  readonly maxRowsRead: number
  /** Time that a query can take, in milliseconds, if its own `budget.timeoutMs` says nothing else. Default 30,000. */
  readonly queryTimeoutMs: number
  /** Estimated memory of what a query keeps for its joins, order and groups, in bytes, if its own `budget.maxBytes` says nothing else. Default 256 MiB. */
  readonly maxQueryBytes: number
}

/** One caller's session, by one layout. */
export interface SessionContext extends ReadingContext {
  /** Returns the session by the layout of now. */
  current(): SessionContext
  readonly limits: Limits
  readonly caller: Caller
  /** The policy, by the layout of the session. */
  readonly policy: Policy
  /** The grants of the caller. */
  readonly access: Access
  readonly units: UnitFactory
  readonly catalog: CatalogFence
  readonly lifetime: Lifetime
  readonly tracing: Tracing | undefined
  readonly measuring: Measuring | undefined
  readonly log: Log | undefined
  readonly audit: AuditTrail
  /** Returns the description of the schema of now. */
  readSchema(): SchemaDescription
  /** Returns a stored credential; undefined if it does not exist. Absent in a session inside a transaction, which reads its own storage. */
  readonly findCredential?: (keyId: string) => Promise<Pick<ListedCredential, 'name' | 'expiresAt'> | undefined>
  readonly files: SessionFiles
  /** Heads of sealed indexes that were read; in a session inside a transaction, those of its own. */
  readonly indexHeads: HeadCache
  /** Takes what writers say of what they store in sealed indexes. */
  readonly indexNotes: IndexNotes
  /** Absent in a session inside a transaction, in which nothing is merged. */
  readonly crowdedIndexes?: CrowdedIndexes
  /** What reading costs, by which queries choose their indexes. Default: as it was measured. */
  readonly readCosts: ReadCosts | undefined
  /** Names this process in the list of jobs. */
  readonly processName: string
  /** Undefined in a session inside a transaction, whose calls are not joined. */
  readonly joined: JoinedCalls<OperationContext> | undefined
}

/** Sealed indexes that may have far too many deltas. */
export interface CrowdedIndexes {
  /** The object ids of their tables: almost always none. */
  readonly crowded: ReadonlySet<number>
  /** Merges the deltas of those that have. Never rejects. */
  relieve(): Promise<void>
}

/** The files of a vault, as a session has them. */
export interface SessionFiles extends FileContext {
  /** True if files are scanned, and opened only when they are clean. */
  readonly hasScanner: boolean
  /** True in a session inside a transaction. Contents are not part of it: files cannot be stored or removed there. */
  readonly isInTransaction: boolean
  /** Begins the scans that are due, if the vault has a scanner. */
  wakeScans(): void
}

/** One operation of a session, or, with the events of several, operations that run as one. */
export interface OperationContext<Event = EventBuilder> extends SessionContext {
  readonly unit: UnitOfWork
  readonly event: Event
  /** Notes what is kept with the idempotency key of the operation, as JSON, before that is stored. Absent where nothing is kept. */
  readonly note?: ((kept: object) => void) | undefined
}

/** The dependencies of parsing: neither grants nor storage. */
export type ParsingContext = Pick<OperationContext, 'layout' | 'limits' | 'event'>
