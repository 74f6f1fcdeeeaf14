/** The vault: opens storage and keys, and creates sessions for callers. It has no rules of its own. */
import type { VerificationResult } from '../audit/chain-verifier.ts'
import type { SignedCheckpoint } from '../audit/checkpoint.ts'
import type { AuditContext } from '../audit-log/audit-context.ts'
import { createChainPool } from '../audit-log/chain-pool.ts'
import type { CheckpointOptions } from '../audit-log/checkpoint-audit.ts'
import { checkpointAudit, parseCheckpointOptions } from '../audit-log/checkpoint-audit.ts'
import { createEventStore, type EventStore } from '../audit-log/event-store.ts'
import type { ExportOptions } from '../audit-log/export-audit.ts'
import { exportAudit } from '../audit-log/export-audit.ts'
import type { VerifyAuditOptions } from '../audit-log/verify-audit.ts'
import { verifyAudit } from '../audit-log/verify-audit.ts'
import type { Barrier } from '../barrier/barrier.ts'
import { CATALOG_MOVED, retryingBarrier } from '../barrier/barrier.ts'
import { applySchema } from '../catalog/apply-schema.ts'
import type { CatalogFence } from '../catalog/catalog-fence.ts'
import { createCatalogFence } from '../catalog/catalog-fence.ts'
import { openCatalog } from '../catalog/open-catalog.ts'
import { expiredCredentialsPass } from '../credentials/purge-credentials.ts'
import { VaultError } from '../errors.ts'
import { requireTable } from '../execution/check-input.ts'
import type { Limits, SessionContext } from '../execution/context.ts'
import { createJoinedCalls } from '../execution/joined-calls.ts'
import { createLifetime, createTransactionLifetime, type Lifetime } from '../execution/lifetime.ts'
import { withVerb } from '../execution/operation-errors.ts'
import { quietMetrics } from '../execution/run-measured.ts'
import { removalPass } from '../file-store/remove-files.ts'
import { runPass } from '../maintenance/run-pass.ts'
import type { OpenFileOptions, OpenFileResult } from '../operations/open-file.ts'
import type { UploadedFile } from '../operations/upload-file.ts'
import type { Action } from '../policy/actions.ts'
import type { Caller, RequestContext } from '../policy/caller.ts'
import { parseCaller } from '../policy/caller.ts'
import { compilePolicy } from '../policy/compile-policy.ts'
import { accessOf, readCachedAccesses } from '../policy/create-access.ts'
import type { ExplainRequest, Explanation } from '../policy/explain-access.ts'
import { explainAccess } from '../policy/explain-access.ts'
import type { Log } from '../ports/log.ts'
import { readQueryForms } from '../queries/query-forms.ts'
import { readQuery } from '../queries/query-text.ts'
import { explainQuery } from '../queries/run-query.ts'
import { purgePass } from '../records/transient-store.ts'
import type { SchemaDefinition } from '../schema/column.ts'
import { checkSchema } from '../schema/define-schema.ts'
import type { SchemaDescription } from '../schema/describe-schema.ts'
import { describeSchema } from '../schema/describe-schema.ts'
import type { TableName } from '../schema/infer.ts'
import type { Layout } from '../schema/layout.ts'
import { RECORD_ID_NAME } from '../schema/names.ts'
import { CATALOG } from '../schema/system-tables.ts'
import type { QueryPlan } from '../sql/explain-plan.ts'
import type { OnCommit } from '../unit-of-work/note-commit.ts'
import { assertOutsideTransaction, outsideTransactions } from '../unit-of-work/outside-transactions.ts'
import { recordedUnits } from '../unit-of-work/recorded-units.ts'
import type { UnitFactories, UnitFactory } from '../unit-of-work/unit-of-work.ts'
import { unrecordedUnits } from '../unit-of-work/unrecorded-units.ts'
import { guard, guardAround, type RunCallback, readInput, toVaultError } from '../util/boundary.ts'
import type { ClosedByUsing } from '../util/closed-by-using.ts'
import { assertNoNulls } from '../util/null-options.ts'
import { retry } from '../util/retry.ts'
import type { RecordVerificationResult } from '../verification/record-findings.ts'
import { type VerifyRecordsOptions, verifyRecords } from '../verification/verify-records.ts'
import type { OpenOptions } from './options.ts'
import { parseOptions } from './options.ts'
import type { Session } from './session.ts'
import { createSession } from './session.ts'
import { createVaultCredentials, type Refusal, recordRefusal, type VaultCredentials } from './vault-credentials.ts'
import { createVaultFiles, type UploadByTicket } from './vault-files.ts'

/** A vault inside a transaction. The changes of all sessions commit or roll back together. */
export interface VaultInTransaction<S extends SchemaDefinition> {
  /** Returns a session for a caller that the application has authenticated. Throws `invalid_request` if a member of the caller is invalid. */
  as(caller: Caller): Session<S>
}

/** An open vault. */
export interface Vault<S extends SchemaDefinition = SchemaDefinition> extends VaultInTransaction<S>, ClosedByUsing {
  readonly id: string
  /** Id of the account in audit events: the option `accountId`, or the id of the vault. */
  readonly accountId: string
  /** Tables and columns as plain data, frozen. It describes the schema that was passed, not columns that only other processes know. */
  readonly schema: SchemaDescription
  /**
   * Runs work in one transaction, and returns its result. An error rolls all of it back; a change that fails and is caught rolls back
   * alone. Work must use the vault passed to it: a call of the outer one throws `internal`. It must await every call: one that still
   * runs at the end is refused. On SQLite and in memory, other writers wait. On PostgreSQL, work can run again after a deadlock or serialization failure.
   */
  transaction<T>(work: (vault: VaultInTransaction<S>) => Promise<T>): Promise<T>
  /** Returns the vault inside a transaction that the application opened on the same database (a Kysely transaction or the driver's own client). The application commits it. */
  withTransaction(hostTransaction: unknown): VaultInTransaction<S>
  /**
   * Makes one short read of the storage, and resolves if it answers. For readiness checks: it needs no caller and records no event. Throws
   * `unavailable` if the storage cannot be reached, and `failed_precondition` after the vault was closed.
   */
  ping(): Promise<{ readonly ok: true }>
  /**
   * Deletes expired transient values, which reads never return in any case, and removes the contents of files that no record names:
   * replaced and deleted ones, and those of uploads that never ended. Also deletes credentials, revocations of JWTs and assertions that
   * have served, an hour after they expired. Returns the number of values, of files, and of these.
   */
  purgeExpired(): Promise<{ deleted: number; files: number; credentials: number }>
  /** Scans the files whose scan is due, and waits for the results, also of scans in progress, which are not counted. Without a scanner, does nothing. A vault with one also scans in the background. */
  scanFiles(): Promise<{ scanned: number }>
  /**
   * Opens the file of a ticket that `downloadURL` gave. Throws `not_found`, always the same, if the ticket does not open it, or not any
   * more. `request` is the origin of this request, for its event: the ticket has the caller, but not where it is used.
   */
  downloadWithTicket(ticket: string, options?: OpenFileOptions, request?: RequestContext): Promise<OpenFileResult>
  /**
   * Uploads a file by a ticket that `uploadURL` gave. Throws `not_found` for the ticket, and like `uploadFile` for what is wrong with the
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
  explain(caller: Caller, action: Action, table: TableName<S>, options?: Pick<ExplainRequest, 'record'>): Explanation
  /** Returns the plan of a query for a caller: what storage filters, what is opened, which statements allow each column. Reads no row and records no event. */
  explainQuery(sql: string, caller: Caller): QueryPlan
  /**
   * Verifies the stored records of a table, or of all tables: each must open, and agree with its digests, its stored tokens and its
   * transient values. Reads every record in slices, beside writers. Records no event. Throws `not_found` for an unknown table,
   * `cancelled` if the signal is aborted.
   */
  verifyRecords(options?: VerifyRecordsOptions & { readonly table?: TableName<S> }): Promise<RecordVerificationResult>
  /** Verifies the audit trail; `firstFailure` locates the first failure. Reads every event. */
  verifyAudit(options?: VerifyAuditOptions): Promise<VerificationResult>
  /** Yields the audit trail as lines of NDJSON, to store elsewhere and for `strongroom/audit-verifier`. */
  exportAudit(options?: ExportOptions): AsyncIterable<string>
  /** Signs the heads of all audit chains and passes the checkpoint to the sink, which stores it where the vault cannot change it. */
  checkpointAudit(options: CheckpointOptions): Promise<SignedCheckpoint>
  /**
   * Waits for the calls in progress, closes the storage and overwrites the keys in memory (docs/security.md says which). Later calls throw
   * `failed_precondition`. Must not be awaited inside a transaction, which it waits for. Closing again does nothing more. A vault that was
   * declared with `await using` is closed at the end of its block.
   */
  close(): Promise<void>
}

/** Maximum number of attempts to open, if other processes keep changing the schema. */
const MAX_ATTEMPTS = 10

/**
 * Opens a vault with the given ports. Throws `invalid_request` for an invalid option, `failed_precondition` if storage, key or schema
 * do not fit, `data_loss` for a damaged catalog, `aborted` if other processes keep changing the schema. No record is changed then.
 */
export function openVault<S extends SchemaDefinition>(options: OpenOptions<S>): Promise<Vault<S>> {
  return guard('Cannot open the vault.', () => open(options))
}

async function open<S extends SchemaDefinition>(options: OpenOptions<S>): Promise<Vault<S>> {
  const limits = parseOptions(options)
  const { tables } = checkSchema(readInput(() => options.schema.tables))
  const policy = {
    maxAttempts: MAX_ATTEMPTS,
    shouldRetry: (error: unknown) => error === CATALOG_MOVED,
    exhausted: () => new VaultError('aborted', 'Cannot open the vault: other processes keep changing its schema. Retry.'),
  }
  const opened = await retry(policy, async () => {
    const catalog = await openCatalog(options, options.id, tables)
    const layout = await applySchema(options.storage, { catalog, definition: tables, scheduler: options.scheduler })
    const schema = describeSchema(layout, tables)
    return {
      barrier: catalog.barrier,
      catalog: createCatalogFence(catalog, tables),
      layout,
      schema,
      closeKeys: () => catalog.close(),
    }
  })
  return createVault(options, { ...opened, limits })
}

/** Returns a log that never throws, so that its errors change neither a result nor an error. */
function quietLog(log: Log | undefined): Log | undefined {
  if (log === undefined) return undefined
  const quiet = (level: keyof Log) => (fields: object, message: string) => {
    try {
      const returned: unknown = log[level](fields, message)
      if (returned instanceof Promise) returned.catch(() => {})
    } catch {
      // The result of the operation matters more than its log.
    }
  }
  return { info: quiet('info'), warn: quiet('warn'), error: quiet('error') }
}

/** The result of opening a vault. */
interface Opened {
  readonly barrier: Barrier
  readonly catalog: CatalogFence
  readonly layout: Layout
  readonly schema: SchemaDescription
  readonly limits: Limits
  /** Overwrites the keys in memory. */
  closeKeys(): void
}

function createVault<S extends SchemaDefinition>(
  options: OpenOptions<S>,
  { barrier, catalog, layout, schema, limits, closeKeys }: Opened,
): Vault<S> {
  const { id, storage, clock, scheduler, hash, tracing, accountId = id } = options
  const log = quietLog(options.log)
  const metrics = options.metrics === undefined ? undefined : quietMetrics(options.metrics)
  const policy = readInput(() => compilePolicy(options.policy ?? {}, layout), VaultError.isGenuine)
  const events = createEventStore({ barrier, clock, hash, vaultID: id, accountID: accountId, catalog, log })
  const audit: AuditContext = { storage, events, scheduler, barrier, catalog, clock, hash, vaultID: id, accountID: accountId }
  const lifetime = createLifetime()
  const factories = unitFactoriesOf(options, { events, catalog, log, isAlone: lifetime.isAlone, onCommit: metrics?.committed })
  const outer = outsideTransactions(storage, factories.outer)
  const shared = { barrier, catalog, clock, layout, limits, scheduler, tracing, metrics, log, audit }
  const joined = createJoinedCalls(scheduler)
  const files = createVaultFiles(options, { barrier, catalog, layout, log, contextOf: (caller) => outerContext(caller) })
  const contextIn = (within: Pick<SessionContext, 'units' | 'lifetime' | 'files' | 'joined'>, caller: Caller): SessionContext => {
    return { ...shared, ...within, caller, access: accessOf(policy, caller) }
  }
  const outerContext = (caller: Caller): SessionContext =>
    contextIn({ units: outer, lifetime, files: files.outer, joined }, caller)
  const stopObserving = metrics?.observeCaches(() => [readCachedAccesses(policy), readQueryForms({ layout })])
  const outsideAround = <T>(failed: string, work: (run: RunCallback) => Promise<T>): Promise<T> =>
    guardAround(failed, async (run) => {
      assertOutsideTransaction(storage)
      return lifetime.run(async () => work(run))
    })
  const outside = <T>(failed: string, work: () => Promise<T>): Promise<T> => outsideAround(failed, work)
  const credentialPorts = { storage, clock, barrier, reloadKeys: () => catalog.reload(storage), contextOf: outerContext, outside }
  const within = (units: UnitFactory, calls: Lifetime): VaultInTransaction<S> => ({
    as: (caller) =>
      createSession<S>(contextIn({ units, lifetime: calls, files: files.inTransaction, joined: undefined }, parseCaller(caller))),
  })
  return {
    id,
    accountId,
    schema,
    as: (caller) => createSession<S>(outerContext(parseCaller(caller))),
    transaction: (work) =>
      outsideAround('The transaction failed.', (run) => {
        assertFunction(work, 'The transaction failed. The work of a transaction must be a function.')
        return factories.transact((units) => {
          const calls = createTransactionLifetime()
          return calls.run(() => run(() => work(within(units, calls))))
        })
      }),
    withTransaction: (hostTransaction) =>
      within(
        withVerb('Join', () => factories.join(hostTransaction)),
        lifetime,
      ),
    ping: () =>
      outside('Ping failed.', async () => {
        await storage.find(CATALOG.name, { kind: 'all' }, { order: 'asc', limit: 1, columns: [] })
        return { ok: true }
      }),
    purgeExpired: () =>
      outside('Purge failed.', async () => ({
        deleted: await runPass(purgePass(storage, { clock, layout }), { scheduler }),
        files: await runPass(removalPass(files.outer), { scheduler }),
        credentials: await runPass(expiredCredentialsPass(storage, { clock }), { scheduler }),
      })),
    scanFiles: () => outside('Scan failed.', async () => ({ scanned: (await files.scans?.scanDue()) ?? 0 })),
    downloadWithTicket: (ticket, opening, request) => files.download(ticket, opening, request),
    uploadWithTicket: (ticket, given, request) => files.upload(ticket, given, request),
    credentials: createVaultCredentials(credentialPorts),
    recordRefusal: (refusal) => guard('Request failed.', () => recordRefusal(credentialPorts, refusal)),
    explain: (caller, action, name, explaining) =>
      withVerb('Explain', () => {
        const explained = parseCaller(caller)
        return readInput(() => {
          assertNoNulls(explaining)
          return explainAccess(policy, explained, { action, table: requireTable({ layout }, name), ...explaining })
        })
      }),
    explainQuery: (sql, caller) =>
      withVerb('Query', () => {
        lifetime.assertOpen()
        return explainQuery(
          { barrier, layout, access: accessOf(policy, parseCaller(caller)) },
          readQuery(sql, { layout, idName: RECORD_ID_NAME }),
        )
      }),
    verifyRecords: (given = {}) =>
      outsideAround('Verify failed.', (run) => {
        const { table, signal, onProgress } = readInput(() => ({ ...given }))
        assertNoNulls({ table, signal, onProgress }, 'Verify failed. ')
        if (onProgress !== undefined) assertFunction(onProgress, 'Verify failed. onProgress must be a function.')
        const tables =
          table === undefined ? [...layout.tables.values()] : [withVerb('Verify', () => requireTable({ layout }, table))]
        const reportProgress = (records: number) => run(async () => onProgress?.(records))
        return verifyRecords({ ...shared, barrier: retryingBarrier(barrier), storage }, tables, {
          ...(signal === undefined ? {} : { signal }),
          onProgress: reportProgress,
        })
      }),
    verifyAudit: (verifying) => outside('Verify failed.', () => verifyAudit(audit, verifying)),
    exportAudit: (exporting) =>
      guardedLines(() => {
        assertOutsideTransaction(storage)
        lifetime.assertOpen()
        return exportAudit(audit, exporting)
      }),
    checkpointAudit: (given) =>
      outsideAround('Checkpoint failed.', (run) => {
        const { signer, sink } = readInput(() => parseCheckpointOptions(given))
        return checkpointAudit(audit, { signer, sink: async (signed) => run(async () => sink?.(signed)) })
      }),
    close: () =>
      guard('Close failed.', async () => {
        const callsEnd = lifetime.close()
        await files.stop()
        await callsEnd
        try {
          await files.outer.blobs.close()
          await storage.close()
        } finally {
          closeKeys()
          stopObserving?.()
        }
      }),
    async [Symbol.asyncDispose]() {
      await this.close()
    },
  }
}

/** Throws `invalid_request` for anything but a function: calling it would throw an error of the engine, as if it were the callback's own. */
function assertFunction(callback: unknown, sentence: string): void {
  if (typeof callback !== 'function') throw new VaultError('invalid_request', sentence)
}

/** Yields the lines of an export. Its errors are thrown as they may leave the vault. */
async function* guardedLines(exporting: () => AsyncIterable<string>): AsyncGenerator<string> {
  try {
    yield* exporting()
  } catch (error) {
    throw toVaultError(error, 'Export failed.')
  }
}

/** Returns the unit factories of a vault. Only this function depends on whether the audit is on. */
function unitFactoriesOf(
  {
    audit,
    storage,
    scheduler,
    clock,
    entropy,
  }: Pick<OpenOptions<SchemaDefinition>, 'audit' | 'storage' | 'scheduler' | 'clock' | 'entropy'>,
  { events, catalog, log, isAlone, onCommit }: UnitResources,
): UnitFactories {
  if (audit === 'off') return unrecordedUnits({ storage, scheduler, clock, isAlone, onCommit, catalog })
  const chains = createChainPool(storage, events, entropy)
  return recordedUnits({ storage, scheduler, clock, isAlone, onCommit, chains, events, catalog, log })
}

/** What the units of a vault share with its calls. */
interface UnitResources {
  readonly events: EventStore
  readonly catalog: CatalogFence
  readonly log: Log | undefined
  readonly onCommit: OnCommit
  isAlone(): boolean
}
