/** The vault as an application holds it: opens storage and keys, and gives callers their sessions. It has no rules of its own. */
import type { VerificationResult } from '../audit/chain-verifier.ts'
import type { SignedCheckpoint } from '../audit/checkpoint.ts'
import type { AuditContext } from '../audit-log/audit-context.ts'
import { createChainPool } from '../audit-log/chain-pool.ts'
import type { CheckpointOptions } from '../audit-log/checkpoint-audit.ts'
import { checkpointAudit } from '../audit-log/checkpoint-audit.ts'
import { createEventStore, type EventStore } from '../audit-log/event-store.ts'
import type { ExportOptions } from '../audit-log/export-audit.ts'
import { exportAudit } from '../audit-log/export-audit.ts'
import type { VerifyAuditOptions } from '../audit-log/verify-audit.ts'
import { verifyAudit } from '../audit-log/verify-audit.ts'
import type { Barrier } from '../barrier/barrier.ts'
import { applySchema, CATALOG_CHANGED } from '../catalog/apply-schema.ts'
import { openCatalog } from '../catalog/open-catalog.ts'
import { VaultError } from '../errors.ts'
import { requireTable } from '../execution/check-input.ts'
import type { Limits } from '../execution/context.ts'
import { withVerb } from '../execution/perform.ts'
import { runPass } from '../maintenance/run-pass.ts'
import { parseQueryText } from '../operations/query-records.ts'
import type { Action } from '../policy/actions.ts'
import type { Caller } from '../policy/caller.ts'
import { parseCaller } from '../policy/caller.ts'
import { compilePolicy } from '../policy/compile-policy.ts'
import { accessOf } from '../policy/create-access.ts'
import type { ExplainRequest, Explanation } from '../policy/explain-access.ts'
import { explainAccess } from '../policy/explain-access.ts'
import type { Log } from '../ports/log.ts'
import { explainQuery } from '../queries/answer-query.ts'
import { purgePass } from '../records/transient-store.ts'
import type { SchemaDefinition } from '../schema/column.ts'
import { defineSchema } from '../schema/define-schema.ts'
import type { TableName } from '../schema/infer.ts'
import type { Layout } from '../schema/layout.ts'
import type { QueryPlan } from '../sql/explain-plan.ts'
import { recordedUnits } from '../unit-of-work/recorded-units.ts'
import type { UnitFactories, UnitFactory } from '../unit-of-work/unit-of-work.ts'
import { unrecordedUnits } from '../unit-of-work/unrecorded-units.ts'
import { retry } from '../util/retry.ts'
import type { OpenOptions } from './options.ts'
import { parseOptions } from './options.ts'
import type { Session } from './session.ts'
import { createSession } from './session.ts'

/** A vault inside a transaction: its callers' changes commit or roll back together. */
export interface VaultInTransaction<S extends SchemaDefinition> {
  /** A session for a caller that the application has authenticated. Throws `invalid_request` when a member of the caller is invalid. */
  as(caller: Caller): Session<S>
}

/** An open vault. */
export interface Vault<S extends SchemaDefinition = SchemaDefinition> extends VaultInTransaction<S> {
  readonly id: string
  /** A session for a caller that the application has authenticated. Throws `invalid_request` when a member of the caller is invalid. */
  as(caller: Caller): Session<S>
  /**
   * Runs work in one transaction. An error rolls all of it back; a change that fails and is caught rolls back alone. Use the vault
   * passed to work, never the outer one, and await every call: one still running at the end is refused. SQLite and memory
   * have one writer, which waits for work. After a deadlock or serialization failure on Postgres work may run again.
   */
  transaction<T>(work: (vault: VaultInTransaction<S>) => Promise<T>): Promise<T>
  /** The vault inside a transaction that the application opened on the same database (a Kysely transaction or the driver's own client). The application commits it. */
  withTransaction(hostTransaction: unknown): VaultInTransaction<S>
  /** Deletes expired transient values. Reads never return them in any case. Returns how many were deleted. */
  purgeExpired(): Promise<{ deleted: number }>
  /**
   * What the policy allows this caller on this table for an action: column by column, and which statements decided. Reads no
   * record and records no event; for tests of policies.
   */
  explain(caller: Caller, action: Action, table: TableName<S>, options?: Pick<ExplainRequest, 'record'>): Explanation
  /** How a query of this caller would run: what storage filters, what is opened, which statement allows each column. Reads and records nothing. */
  explainQuery(sql: string, caller: Caller): QueryPlan
  /** Reads the whole audit trail and verifies it; `firstBroken` locates the first failure. Costs a read of every event. */
  verifyAudit(options?: VerifyAuditOptions): Promise<VerificationResult>
  /** The audit trail as lines of NDJSON, for `strongroom/audit-verifier` and for keeping elsewhere. */
  exportAudit(options?: ExportOptions): AsyncIterable<string>
  /** Signs the heads of all chains of the trail, and passes the checkpoint to the sink, which keeps it where the vault cannot change it. */
  checkpointAudit(options: CheckpointOptions): Promise<SignedCheckpoint>
  /** Closes the storage. Later calls throw `unavailable`, except on memory, which has nothing to close. */
  close(): Promise<void>
}

/** Times opening runs again because another process opens the same vault with a changed schema. */
const MAX_ATTEMPTS = 10

/** Opens a vault on the ports given. Throws `invalid_request` for options, `failed_precondition` when storage, key or schema do not fit; then nothing was written. */
export async function openVault<S extends SchemaDefinition>(options: OpenOptions<S>): Promise<Vault<S>> {
  const limits = parseOptions(options)
  const { tables } = defineSchema(options.schema.tables)
  const policy = {
    maxAttempts: MAX_ATTEMPTS,
    shouldRetry: (error: unknown) => error === CATALOG_CHANGED,
    exhausted: () => new VaultError('aborted', 'Cannot open the vault: other processes keep changing its schema. Retry.'),
  }
  const opened = await retry(policy, async () => {
    const catalog = await openCatalog(options, options.id)
    const barrier = { ring: catalog.ring, entropy: options.entropy, vault: catalog.vault }
    return {
      barrier,
      layout: await applySchema(options.storage, barrier, { catalog, definition: tables, scheduler: options.scheduler }),
    }
  })
  return createVault(options, { ...opened, limits })
}

/** A log that never throws: one that fails changes neither a result nor an error. */
function quietLog(log: Log | undefined): Log | undefined {
  if (log === undefined) return undefined
  const quiet = (level: keyof Log) => (fields: object, message: string) => {
    try {
      log[level](fields, message)
    } catch {
      // The result of the operation matters more than its log.
    }
  }
  return { info: quiet('info'), warn: quiet('warn'), error: quiet('error') }
}

/** What opening a vault produced. */
interface Opened {
  readonly barrier: Barrier
  readonly layout: Layout
  readonly limits: Limits
}

function createVault<S extends SchemaDefinition>(options: OpenOptions<S>, { barrier, layout, limits }: Opened): Vault<S> {
  const { id, storage, clock, scheduler, hash, tracing, accountId = id } = options
  const log = quietLog(options.log)
  const policy = compilePolicy(options.policy ?? {}, layout)
  const events = createEventStore({ barrier, clock, hash, vaultID: id, accountID: accountId, log })
  const trail: AuditContext = { storage, events, scheduler, barrier, clock, hash, vaultID: id, accountID: accountId }
  const factories = unitFactoriesOf(options, { events, log })
  const shared = { barrier, clock, layout, limits, scheduler, tracing, log, trail }
  const sessionIn = (units: UnitFactory, given: Caller): Session<S> => {
    const caller = parseCaller(given)
    return createSession<S>({ ...shared, units, caller, access: accessOf(policy, caller) })
  }
  const within = (units: UnitFactory): VaultInTransaction<S> => ({ as: (caller) => sessionIn(units, caller) })
  return {
    id,
    as: (caller) => sessionIn(factories.outer, caller),
    transaction: (work) => factories.transact((units) => work(within(units))),
    withTransaction: (hostTransaction) => within(factories.join(hostTransaction)),
    purgeExpired: async () => ({ deleted: await runPass(purgePass(storage, { clock, layout }), { scheduler }) }),
    explain: (caller, action, name, explaining) =>
      withVerb('Explain', () =>
        explainAccess(policy, parseCaller(caller), { action, table: requireTable({ layout }, name), ...explaining }),
      ),
    explainQuery: (sql, caller) =>
      withVerb('Query', () =>
        explainQuery({ barrier, layout, access: accessOf(policy, parseCaller(caller)) }, parseQueryText(sql)),
      ),
    verifyAudit: (verifying) => verifyAudit(trail, verifying),
    exportAudit: (exporting) => exportAudit(trail, exporting),
    checkpointAudit: (checkpoint) => checkpointAudit(trail, checkpoint),
    close: () => storage.close(),
  }
}

/** The units of work of a vault: this is the one place where it matters whether the audit is on. */
function unitFactoriesOf(
  { audit, storage, scheduler, entropy }: Pick<OpenOptions<SchemaDefinition>, 'audit' | 'storage' | 'scheduler' | 'entropy'>,
  { events, log }: { readonly events: EventStore; readonly log: Log | undefined },
): UnitFactories {
  if (audit === 'off') return unrecordedUnits(storage, scheduler)
  const chains = createChainPool(storage, events, entropy)
  return recordedUnits({ storage, scheduler, chains, events, log })
}
