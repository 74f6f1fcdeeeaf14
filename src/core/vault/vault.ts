/** The vault as an application has it: what it does, method by method. `open-vault.ts` makes one. */
import type { VerificationResult } from '../audit/chain-verifier.ts'
import type { SignedCheckpoint } from '../audit/checkpoint.ts'
import type { CheckpointOptions, ExportOptions, VerifyAuditOptions } from '../audit-log/audit-trail.ts'
import type { QueryValue } from '../expressions/parameter-values.ts'
import type { MaintenanceJob } from '../maintenance/jobs.ts'
import type { OpenFileOptions, OpenFileResult } from '../operations/open-file.ts'
import type { UploadedFile } from '../operations/upload-file.ts'
import type { CallerIn, RequestContext } from '../policy/caller.ts'
import type { ExplainOptions, Explanation } from '../policy/explain-access.ts'
import type { PolicyFinding } from '../policy/policy-findings.ts'
import type { Action, BuiltInRole } from '../policy/statement.ts'
import type { SchemaDefinition } from '../schema/column.ts'
import type { SchemaDescription } from '../schema/describe-schema.ts'
import type { TableName } from '../schema/infer.ts'
import type { QueryPlan } from '../sql/explain-plan.ts'
import type { SqlQuery } from '../sql/sql.ts'
import type { ClosedByUsing } from '../util/causes.ts'
import type { RecordVerificationResult } from '../verification/record-findings.ts'
import type { FollowedBatch, FollowOptions } from './follow-audit.ts'
import type { VaultTransactionOptions, WatchOptions } from './outside-calls.ts'
import type { Session } from './session.ts'
import type { Refusal, VaultCredentials } from './vault-credentials.ts'
import type { VaultDisk } from './vault-disk.ts'
import type { UploadByTicket } from './vault-files.ts'
import type { VaultKeys } from './vault-keys.ts'
import type { VaultLookups } from './vault-lookups.ts'
import type { VaultOverview } from './vault-overview.ts'
import type { VaultRetention } from './vault-retention.ts'
import type { VaultSchema } from './vault-schema.ts'
import type { VaultSubjects } from './vault-subjects.ts'

/** A vault inside a transaction. The changes of all sessions commit or roll back together. */
export interface VaultInTransaction<S extends SchemaDefinition, Role extends string = string> {
  /**
   * Returns a session for a caller that the application has authenticated. The compiler refuses the name of a role that neither the policy
   * nor every vault has, unless it is known only at run time. Throws `invalid_request` if a member of the caller is invalid.
   */
  as<const Named extends Role | BuiltInRole | (string & {})>(caller: CallerIn<Role, Named>): Session<S>
}

/** An open vault. `Role` are the roles of its policy; any name is accepted where they are not known. */
export interface Vault<S extends SchemaDefinition = SchemaDefinition, Role extends string = string>
  extends VaultInTransaction<S, Role>,
    VaultKeys,
    VaultLookups<S>,
    VaultOverview,
    VaultSchema,
    VaultRetention,
    VaultSubjects<Role>,
    VaultDisk,
    ClosedByUsing {
  readonly id: string
  /** Id of the account in audit events: the option `accountId`, or the id of the vault. */
  readonly accountId: string
  /** Tables and columns as plain data, frozen. It describes the schema that was passed, not columns that only other processes know. */
  readonly schema: SchemaDescription
  /**
   * Runs work in one transaction, and returns its result. An error rolls all of it back; a change that fails and is caught rolls back
   * alone. Work must use the vault passed to it: a call of the outer one throws `internal`. It must await every call: one that still
   * runs at the end is refused. On SQLite and in memory, other writers wait. On PostgreSQL, a change of a record that others changed after work
   * had read it is `aborted`. After `aborted`, all of work runs again, `retries` times at most. Throws `invalid_request` for another option.
   */
  transaction<T>(work: (vault: VaultInTransaction<S, Role>) => Promise<T>, options?: VaultTransactionOptions): Promise<T>
  /** Returns the vault inside a transaction that the application opened on the same database (a Kysely transaction or the driver's own client). The application commits it. */
  withTransaction(hostTransaction: unknown): VaultInTransaction<S, Role>
  /**
   * Makes one short read of the storage, and resolves if it answers. For readiness checks: it needs no caller and records no event. Throws
   * `unavailable` if the storage cannot be reached, and `failed_precondition` after the vault was closed.
   */
  ping(): Promise<{ readonly ok: true }>
  /**
   * Lists the slow work of all processes on this storage: what runs, how far it is, since when and where. Work of less than a second is not
   * listed, and neither is the filling of digests while a vault is opened. Records no event.
   */
  maintenance(): Promise<MaintenanceJob[]>
  /** Scans the files whose scan is due, and waits for the results, also of scans in progress, which are not counted. Without a scanner, does nothing. A vault with one also scans in the background. `onProgress` counts the files it scanned. An abort ends the scan of a file, which is due again. */
  scanFiles(options?: WatchOptions): Promise<{ scanned: number }>
  /**
   * Opens the file of a ticket that `downloadTicket` gave. Throws `not_found`, always the same, if the ticket does not open it, or not any
   * more. `request` is the origin of this request, for its event: the ticket has the caller, but not where it is used.
   */
  downloadWithTicket(ticket: string, options?: OpenFileOptions, request?: RequestContext): Promise<OpenFileResult>
  /**
   * Uploads a file by a ticket that `uploadTicket` gave. Throws `not_found` for the ticket, and like `uploadFile` for what is wrong with the
   * content. `request` is the origin of this request, for its event.
   */
  uploadWithTicket(ticket: string, given: UploadByTicket, request?: RequestContext): Promise<UploadedFile>
  /** What authenticators ask: stored credentials, revocations, and bearers of service accounts. Sessions create, revoke and list them. */
  readonly credentials: VaultCredentials
  /**
   * Records a request that failed before it had a session, such as one with a bad credential, as `REQUEST` by the actor `unknown`. Resolves
   * when the event is stored. Throws `unavailable` if it cannot be stored, like an operation.
   */
  recordRefusal(refusal: Refusal): Promise<void>
  /**
   * Returns what the policy allows this caller to do with this table, column by column, and the statements that decide it. Reads no
   * record and records no event. For tests of policies.
   */
  explain<const Named extends Role | BuiltInRole | (string & {})>(
    caller: CallerIn<Role, Named>,
    action: Action,
    table: TableName<S>,
    options?: ExplainOptions,
  ): Explanation
  /** Returns the statements of the policy that decide nothing: about tokens of columns that have none, never true, denied or repeated by others of their role. */
  checkPolicy(): readonly PolicyFinding[]
  /** Returns the plan of a query for a caller: what storage filters, what is opened, which statements allow each column. Reads no row and records no event. */
  explainQuery<const Named extends Role | BuiltInRole | (string & {})>(
    text: string,
    values: readonly QueryValue[],
    caller: CallerIn<Role, Named>,
  ): QueryPlan
  explainQuery<const Named extends Role | BuiltInRole | (string & {})>(
    query: string | SqlQuery,
    caller: CallerIn<Role, Named>,
  ): QueryPlan
  /**
   * Verifies the stored records of a table, or of all tables: each must open, and agree with its digests, its stored tokens and its
   * transient values. Reads every record in slices, beside writers. Records no event. Throws `not_found` for an unknown table,
   * `cancelled` if the signal is aborted. `onProgress` counts the records read. Default: all tables.
   */
  verifyRecords(options?: WatchOptions & { readonly table?: TableName<S> }): Promise<RecordVerificationResult>
  /**
   * Merges what the sealed indexes of a table, or of all tables, consist of into one part each, which is the fastest to read. Then they have no key of a record
   * that was deleted, or of a value that was replaced, before the call. In slices, beside writers; an abort leaves each index as it was. Vaults that stay open
   * merge in the background: this is for processes that are short-lived, after large imports and erasures. Waits while another process merges. Records no
   * event. Throws `not_found` for an unknown table, `aborted` if other processes kept merging, `cancelled`. `onProgress` counts entries. Default: all tables.
   */
  compact(options?: WatchOptions & { readonly table?: TableName<S> }): Promise<void>
  /** Verifies the audit trail; `firstFailure` locates the first failure. Reads every event, which `onProgress` counts. */
  verifyAudit(options?: WatchOptions & VerifyAuditOptions): Promise<VerificationResult>
  /** Yields the audit trail as lines of NDJSON, to store elsewhere and for `strongroom/audit-verifier`. */
  exportAudit(options?: ExportOptions): AsyncIterable<string>
  /**
   * Yields the events of the trail as they are committed, in batches of at most 500, until the signal is aborted. Events of a chain come in
   * its order, and none is passed over that commits late; chains are merged by time. Each event must follow the one before: a chain that was
   * changed in the database stops, and is in `failures`. A caller who keeps the `cursor` of a batch after it has dealt with its events gets
   * each of them at least once. Records no event. Throws `invalid_request` for a cursor of another vault.
   */
  followAudit(options?: FollowOptions): AsyncIterable<FollowedBatch>
  /** Signs the heads of all audit chains and passes the checkpoint to the sink, which stores it where the vault cannot change it. */
  checkpointAudit(options: CheckpointOptions): Promise<SignedCheckpoint>
  /**
   * Waits for the calls in progress, for the `closeMs` of the storage at most, closes the storage and overwrites the keys in memory (docs/security.md says which). Later calls throw
   * `failed_precondition`. Must not be awaited inside a transaction, which it waits for. Closing again does nothing more. A vault that was
   * declared with `await using` is closed at the end of its block.
   */
  close(): Promise<void>
}
