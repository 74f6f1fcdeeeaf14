/** The vault as an application holds it: opens storage and keys, and hands ports to operations. No rules here. */

import type { ChainVerdict } from '../audit/chain-check.ts'
import type { SignedCheckpoint } from '../audit/checkpoint.ts'
import type { Barrier } from '../barrier/barrier.ts'
import { VaultError } from '../errors.ts'
import { createEventStore } from '../journal/event-store.ts'
import { createLanes } from '../journal/lanes.ts'
import { recordedGrounds } from '../journal/recorded-grounds.ts'
import type { Ground } from '../journal/unit-of-work.ts'
import { unrecordedGrounds } from '../journal/unrecorded-grounds.ts'
import { adoptSchema } from '../operations/adopt-schema.ts'
import type { CheckpointOptions } from '../operations/checkpoint-audit.ts'
import { checkpointAudit } from '../operations/checkpoint-audit.ts'
import type { SessionContext } from '../operations/context.ts'
import { tableOf } from '../operations/context.ts'
import type { ExportOptions } from '../operations/export-audit.ts'
import { exportAudit } from '../operations/export-audit.ts'
import { openCatalog } from '../operations/open-catalog.ts'
import { naming } from '../operations/perform.ts'
import { explainQuery } from '../operations/query-records.ts'
import type { VerifyOptions } from '../operations/verify-audit.ts'
import { verifyAudit } from '../operations/verify-audit.ts'
import type { Action } from '../policy/actions.ts'
import type { Caller } from '../policy/caller.ts'
import { parseCaller } from '../policy/caller.ts'
import { compilePolicy } from '../policy/compile-policy.ts'
import { accessOf } from '../policy/create-access.ts'
import type { Explanation, Question } from '../policy/explain-access.ts'
import { explainAccess } from '../policy/explain-access.ts'
import type { Log } from '../ports/log.ts'
import type { SchemaDefinition } from '../schema/column.ts'
import { defineSchema } from '../schema/define-schema.ts'
import type { TableName } from '../schema/infer.ts'
import type { Layout } from '../schema/layout.ts'
import type { QueryPlan } from '../sql/explain-plan.ts'
import { sweepTransients } from '../stores/transient-store.ts'
import type { OpenOptions } from './options.ts'
import { parseOptions } from './options.ts'
import type { Session } from './session.ts'
import { createSession } from './session.ts'

/** A vault inside a transaction: only callers, whose changes commit or vanish together. */
export interface VaultInTransaction<S extends SchemaDefinition> {
  /** A session for a caller the application vouches for. Throws `invalid_request` when the caller is not as described. */
  as(caller: Caller): Session<S>
}

/** An open vault. */
export interface Vault<S extends SchemaDefinition = SchemaDefinition> extends VaultInTransaction<S> {
  readonly id: string
  /** A session for a caller the application vouches for. Throws `invalid_request` when the caller is not as described. */
  as(caller: Caller): Session<S>
  /**
   * Runs work in one transaction; a throw undoes all of it, and a change that fails and is caught undoes itself alone. Use the
   * vault handed to work, never the outer one, and await every call: one still running at the end is refused. SQLite and
   * memory have one writer, which waits for work. After a deadlock or serialization failure on Postgres work may run again.
   */
  transaction<T>(work: (vault: VaultInTransaction<S>) => Promise<T>): Promise<T>
  /** The vault inside a transaction the application opened itself on the same database (a Kysely transaction or the driver's own client): it commits, not we. */
  withTransaction(hostTransaction: unknown): VaultInTransaction<S>
  /** Removes transient values whose time is over; reading never shows one either way. Answers how many went. */
  sweep(): Promise<{ expired: number }>
  /**
   * What the policy says to this caller doing this to this table: column by column, and which statements decided. Nothing
   * is read and nothing recorded; for tests of policies, and for whoever wonders.
   */
  explain(caller: Caller, action: Action, table: TableName<S>, options?: Pick<Question, 'record'>): Explanation
  /** How a query of this caller would be answered: what storage is asked, what is opened, which rule allows each column. Reads nothing, records nothing. */
  explainQuery(sql: string, caller: Caller): QueryPlan
  /** Reads the whole audit trail and says whether it is whole; `firstBroken` says where it is not. Costs a read of every event. */
  verifyAudit(options?: VerifyOptions): Promise<ChainVerdict>
  /** The audit trail as lines of NDJSON, for `strongroom/audit-verifier` and for keeping elsewhere. */
  exportAudit(options?: ExportOptions): AsyncIterable<string>
  /** Signs where every chain of the trail now stands, and hands it to the sink, which keeps it out of the vault's reach. */
  checkpointAudit(options: CheckpointOptions): Promise<SignedCheckpoint>
  /** Lets go of the storage. Later calls throw `unavailable`, but on memory, which has nothing to let go of. */
  close(): Promise<void>
}

/** Times opening begins again because another process is opening the same vault with a changed schema. */
const MOST_ATTEMPTS = 10

/** Opens a vault on the ports given. Throws `invalid_request` for options, `failed_precondition` when storage, key or schema do not fit; then nothing was written. */
export async function openVault<S extends SchemaDefinition>(options: OpenOptions<S>): Promise<Vault<S>> {
  const limits = parseOptions(options)
  const { tables } = defineSchema(options.schema.tables)
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const catalog = await openCatalog(options, options.id)
    const barrier = { ring: catalog.ring, entropy: options.entropy, vault: catalog.vault }
    const layout = await adoptSchema(options.storage, barrier, {
      known: catalog.allotment,
      definition: tables,
      remember: catalog.remember,
    })
    if (layout !== undefined) return createVault(options, { barrier, layout, limits })
  }
  throw new VaultError('aborted', 'The vault was not opened: its schema keeps being changed by another process. Try again.')
}

/** A log that never throws: one that fails takes nothing with it, neither an answer nor an error. */
function quietLog(log: Log | undefined): Log | undefined {
  if (log === undefined) return undefined
  const quiet = (level: keyof Log) => (facts: object, message: string) => {
    try {
      log[level](facts, message)
    } catch {
      // There is nobody left to tell.
    }
  }
  return { info: quiet('info'), warn: quiet('warn'), error: quiet('error') }
}

/** What opening came to. */
interface Opened {
  readonly barrier: Barrier
  readonly layout: Layout
  readonly limits: SessionContext['limits']
}

function createVault<S extends SchemaDefinition>(options: OpenOptions<S>, { barrier, layout, limits }: Opened): Vault<S> {
  const { id, storage, clock, scheduler, hash, tracing, accountId = id } = options
  const log = quietLog(options.log)
  const policy = compilePolicy(options.policy ?? {}, layout)
  const events = createEventStore({ barrier, clock, hash, vaultID: id, accountID: accountId, log })
  const lanes = createLanes(storage, events, options.entropy)
  const grounds =
    options.audit === 'off' ? unrecordedGrounds(storage, scheduler) : recordedGrounds({ storage, scheduler, lanes, events, log })
  const trail = { storage, events, scheduler, barrier, clock, hash, layout, vaultID: id, accountID: accountId }
  const shared = { barrier, clock, layout, limits, scheduler, tracing, log, trail }
  const sessionIn = (ground: Ground, given: Caller): Session<S> => {
    const caller = parseCaller(given)
    return createSession<S>({ ...shared, ground, caller, access: accessOf(policy, caller) })
  }
  const within = (ground: Ground): VaultInTransaction<S> => ({ as: (caller) => sessionIn(ground, caller) })
  return {
    id,
    as: (caller) => sessionIn(grounds.outer, caller),
    transaction: (work) => grounds.transact((ground) => work(within(ground))),
    withTransaction: (hostTransaction) => within(grounds.join(hostTransaction)),
    sweep: async () => ({ expired: await sweepTransients({ storage, clock, layout }) }),
    explain: (caller, action, name, explaining) =>
      naming('Explain', () =>
        explainAccess(policy, parseCaller(caller), { action, table: tableOf({ layout }, name), ...explaining }),
      ),
    explainQuery: (sql, given) => {
      const caller = parseCaller(given)
      return explainQuery({ ...shared, storage, access: accessOf(policy, caller) }, sql, {})
    },
    verifyAudit: (verifying) => verifyAudit(trail, verifying),
    exportAudit: (exporting) => exportAudit(trail, exporting),
    checkpointAudit: (checkpoint) => checkpointAudit(trail, checkpoint),
    close: () => storage.close(),
  }
}
