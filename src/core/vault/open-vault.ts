/** Opens a vault: its storage, keys and policy, and the sessions of its callers. It has no rules of its own. */

import type { AuditTrail } from '../audit-log/audit-trail.ts'
import { createChainPool } from '../audit-log/chain-pool.ts'
import { createEventStore, type EventStore } from '../audit-log/event-store.ts'
import { type Barrier, CATALOG_MOVED } from '../barrier/barrier.ts'
import { type CatalogFence, createCatalogFence } from '../catalog/catalog-fence.ts'
import { followSchema, type LiveSchema } from '../catalog/live-schema.ts'
import { type Catalog, openCatalog } from '../catalog/open-catalog.ts'
import { Fault, isVaultError, VaultError } from '../errors.ts'
import { requireTable } from '../execution/check-input.ts'
import type { Limits, SessionContext } from '../execution/context.ts'
import { createJoinedCalls } from '../execution/joined-calls.ts'
import { createLifetime, createTransactionLifetime, type Lifetime } from '../execution/lifetime.ts'
import { quietMetrics } from '../execution/measured.ts'
import { perform, withVerb } from '../execution/perform.ts'
import type { QueryValue } from '../expressions/parameter-values.ts'
import { createJobs } from '../maintenance/jobs.ts'
import { type SchemaChangeStep, schemaChangeStep } from '../operations/change-schema.ts'
import { type Caller, parseCaller, VAULT_CALLER } from '../policy/caller.ts'
import { compilePolicy, type Policy, timedColumns } from '../policy/compile-policy.ts'
import { accessOf, readCachedAccesses } from '../policy/create-access.ts'
import { type ExplainOptions, explainAccess } from '../policy/explain-access.ts'
import { findIdleStatements } from '../policy/policy-findings.ts'
import type { Log } from '../ports/observability.ts'
import { readQuery, readQueryForms } from '../queries/query-text.ts'
import { explainQuery } from '../queries/run-query.ts'
import { createOpenings, type Openings } from '../rotation/openings.ts'
import { definitionOf } from '../schema/catalog-schema.ts'
import type { SchemaDefinition } from '../schema/column.ts'
import { checkSchema, type Schema, storedSchema } from '../schema/define-schema.ts'
import { describeSchema } from '../schema/describe-schema.ts'
import { RECORD_ID_NAME } from '../schema/names.ts'
import { openSchema } from '../schema-change/open-schema.ts'
import { HeadCache } from '../sealed-index/index-rows.ts'
import type { SqlQuery } from '../sql/sql.ts'
import { createKeyedStorage, type KeyedStorage } from '../subject-keys/keyed-storage.ts'
import type { OnCommit } from '../unit-of-work/gather.ts'
import { type TrackReads, trackReads } from '../unit-of-work/read-versions.ts'
import { recordedUnits } from '../unit-of-work/recorded-units.ts'
import { outsideTransactions, turnsOutside, type UnitFactories, type UnitFactory } from '../unit-of-work/unit-of-work.ts'
import { unrecordedUnits } from '../unit-of-work/unrecorded-units.ts'
import { attempt } from '../util/attempt.ts'
import { guard, guardAround, parseOnProgress, type RunCallback, readInput } from '../util/boundary.ts'
import { assertOptions } from '../util/options.ts'
import { assertNotAborted, parseSignal } from '../util/signal.ts'
import type { Administered } from './administration.ts'
import { watchKey } from './key-watch.ts'
import { createMergeWorker } from './merge-worker.ts'
import { type OpenOptions, parseOptions } from './options.ts'
import { createOutsideCalls, parseRetries, retryAborted } from './outside-calls.ts'
import { quietLog } from './quiet-log.ts'
import { createSession } from './session.ts'
import { toExplained } from './session-input.ts'
import { beginKeys } from './subject-key-source.ts'
import type { Vault, VaultInTransaction } from './vault.ts'
import { createVaultAudit } from './vault-audit.ts'
import { createVaultCredentials, recordRefusal } from './vault-credentials.ts'
import { createVaultDisk } from './vault-disk.ts'
import { createVaultFiles } from './vault-files.ts'
import { createVaultKeys } from './vault-keys.ts'
import { createVaultLookups } from './vault-lookups.ts'
import { createVaultMaintenance } from './vault-maintenance.ts'
import { createVaultOverview } from './vault-overview.ts'
import { createVaultRetention } from './vault-retention.ts'
import { applyAtOpening, createVaultSchema } from './vault-schema.ts'
import { createVaultSubjects } from './vault-subjects.ts'

/** Maximum number of attempts to open, if other processes keep changing the schema. */
const MAX_ATTEMPTS = 10

/**
 * Opens a vault with the given ports. Throws `invalid_request` for an invalid option, `failed_precondition` if storage, key or schema
 * do not fit, `data_loss` for a damaged catalog, `aborted` if other processes keep changing the schema. No record is changed then.
 */
export function openVault<S extends SchemaDefinition, Role extends string>(
  options: OpenOptions<S, Role>,
): Promise<Vault<S, Role>> {
  return guardAround('Cannot open the vault.', (run) => open(options, run)).catch((error: unknown) => {
    const isAborted = Fault.isFault(error) && error.code === 'cancelled'
    throw isAborted ? new VaultError(error.code, `Cannot open the vault. ${error.message}`) : error
  })
}

async function open<S extends SchemaDefinition, Role extends string>(
  unchecked: OpenOptions<S, Role>,
  run: RunCallback,
): Promise<Vault<S, Role>> {
  const limits = parseOptions(unchecked)
  const keyed = createKeyedStorage(unchecked.storage, unchecked.subjectKeys)
  const options = { ...unchecked, storage: keyed.storage, scheduler: turnsOutside(unchecked.storage, unchecked.scheduler) }
  const { signal, report } = readInput(() => ({
    signal: parseSignal(options.signal),
    report: parseOnProgress(options.onProgress, run),
  }))
  const given = options.schema === storedSchema ? undefined : givenSchema(options.schema)
  const moved = {
    is: (error: unknown) => error === CATALOG_MOVED,
    most: MAX_ATTEMPTS,
    lastWord: () => new VaultError('aborted', 'Cannot open the vault: other processes keep changing its schema. Retry.'),
  }
  const log = quietLog(options.log)
  const steps: SchemaChangeStep[] = []
  const opened = await attempt([moved], async () => {
    assertNotAborted(signal)
    const catalog = await openCatalog(options, options.id, given?.tables)
    await beginKeys(keyed, catalog, options, given?.rules)
    const opening = { ...options, barrier: catalog.barrier, catalog, log }
    await openSchema(
      opening,
      given && {
        schema: given,
        changes: options.schemaChanges ?? 'small',
        apply: applyAtOpening(opening, { signal, report }, steps),
      },
    )
    const live = followSchema(catalog, given?.tables ?? definitionOf(catalog.state.schema))
    return { barrier: catalog.barrier, catalog: createCatalogFence(catalog, live), live, stored: catalog }
  })
  const openings = createOpenings({ ...options, stored: opened.stored, catalog: opened.catalog, log })
  await openings.note()
  return createVault(options, { ...opened, limits, openings, steps, keyed })
}

/** Returns the schema of the options, checked again: an application can pass plain JSON. */
function givenSchema(schema: Schema): Schema {
  return readInput(() => checkSchema(schema.tables, schema.rules))
}

/** Logged for each column of a condition that must be opened in every row. Source: docs/security.md, "Policies". */
const TIMED =
  'a condition of the policy opens a sealed column in every row, so times of reads can show its values: compare a searchable column by =, or a plain one'

/** What calls answer after the provider refused the key. */
const WITHDRAWN = 'The vault is closed: its key provider withdrew the key. Allow the key again, then open the vault.'

/** What is of one caller, or of one layout. */
type OfSession = 'caller' | 'layout' | 'policy' | 'access' | 'current'

/** The result of opening a vault. */
interface Opened {
  readonly barrier: Barrier
  readonly catalog: CatalogFence
  readonly live: LiveSchema
  readonly limits: Limits
  /** The catalog itself, whose keys change and are closed. */
  readonly stored: Catalog
  readonly openings: Openings
  readonly keyed: KeyedStorage
  /** The steps of a change of the schema that the opening made, to be recorded. */
  readonly steps: readonly SchemaChangeStep[]
}

async function createVault<S extends SchemaDefinition, Role extends string>(
  options: OpenOptions<S, Role>,
  { barrier, catalog, live, limits, stored, openings, steps, keyed }: Opened,
): Promise<Vault<S, Role>> {
  const { id, storage, clock, scheduler, hash, tracing, accountId = id } = options
  const log = quietLog(options.log)
  const metrics = options.metrics === undefined ? undefined : quietMetrics(options.metrics)
  const measuring = metrics === undefined ? undefined : { metrics, stopwatch: options.stopwatch }
  let policy = readInput(() => compilePolicy(options.policy ?? {}, live.layout), VaultError.isGenuine)
  /** Returns the policy by the layout of now. */
  const policyNow = (): Policy => {
    if (policy.layout !== live.layout) policy = compilePolicy(options.policy ?? {}, live.layout)
    return policy
  }
  for (const column of timedColumns(policy)) log?.warn(column, TIMED)
  const events = createEventStore({
    barrier,
    clock,
    hash,
    vaultID: id,
    accountID: accountId,
    catalog,
    log,
    holdsChains: storage.transactions === 'concurrent',
  })
  const audit: AuditTrail = { storage, events, scheduler, barrier, catalog, clock, hash, vaultID: id, accountID: accountId }
  const lifetime = createLifetime()
  const commits = { isAlone: lifetime.isAlone, onCommit: metrics?.committed }
  const factories = unitFactoriesOf(options, { events, catalog, log, ...commits, trackReads: trackReads(storage, live.layout) })
  const outer = outsideTransactions(storage, factories.outer)
  const jobs = createJobs({ ...options, barrier, catalog, log })
  const indexHeads = new HeadCache()
  const merges = createMergeWorker({ ...options, barrier, catalog, live, log, jobs, indexHeads })
  const shared = {
    barrier,
    catalog,
    clock,
    limits,
    scheduler,
    tracing,
    measuring,
    log,
    audit,
    processName: options.process,
    indexHeads,
    indexNotes: merges.notes,
    readCosts: options.readCosts,
    readSchema: () => describeSchema(live.layout, definitionOf(live.part)),
  }
  const joined = createJoinedCalls(scheduler)
  stored.onKeys((replaced) => {
    lifetime.afterCurrent(() => stored.closeRing(replaced))
    void openings.note()
  })
  const outside = createOutsideCalls(storage, lifetime)
  const contextOf = (caller: Caller): SessionContext => outerContext(caller)
  const files = createVaultFiles(options, { barrier, catalog, live, log, jobs, contextOf, outside: outside.run })
  const findCredential = (keyId: string) => credentials.find(keyId)
  const sharedOutside = { ...shared, units: outer, lifetime, files: files.outer, joined, findCredential, crowdedIndexes: merges }
  const outerContext = (caller: Caller): SessionContext => contextIn(sharedOutside, caller)
  // What a call has changed is recorded, also if the vault is closed meanwhile.
  const contextOfCalls = (caller: Caller): SessionContext => contextIn({ ...sharedOutside, lifetime: lifetime.ofCalls }, caller)
  const contextIn = (common: Omit<SessionContext, OfSession>, caller: Caller): SessionContext => {
    const now = (): SessionContext => {
      const { layout } = live
      const policy = policyNow()
      return { ...common, caller, layout, policy, access: accessOf(policy, caller), current }
    }
    const current = (): SessionContext => {
      if (latest.layout !== live.layout) latest = now()
      return latest
    }
    let latest = now()
    return latest
  }
  for (const step of steps) await perform(contextOfCalls(VAULT_CALLER), schemaChangeStep, step)
  const keyPorts = { ...options, vaultId: id, catalog: stored, openings, outside, jobs, contextOf: contextOfCalls }
  const close = (): Promise<void> =>
    guard('Close failed.', async () => {
      stopWatching?.()
      jobs.stop()
      const ended = Promise.all([lifetime.close(), files.stop(), merges.stop()])
      const stopped = ended
        .then(() => openings.end())
        .then(() => factories.release())
        .then(() => files.outer.blobs.close())
      try {
        await storage.close(await waitAtMost(stopped, storage.closeMs, options))
      } finally {
        stored.close()
        stopObserving?.()
        await options.keys.close?.()
      }
    })
  const withdraw = (): void => {
    log?.error({ code: 'failed_precondition' }, 'key withdrawn; the vault is closed')
    // Calls in progress do not get to the end: what they would seal or open is no longer theirs to have.
    void lifetime.close(WITHDRAWN)
    stored.close()
    close().catch((error: unknown) => log?.error({ code: isVaultError(error) ? error.code : 'internal' }, 'vault not closed'))
  }
  const { revokeCheckMs } = options
  const watched = { ...options, vaultId: id, catalog, log, withdraw }
  const stopWatching = revokeCheckMs === undefined ? undefined : watchKey(watched, revokeCheckMs)
  const stopObserving = metrics?.observeCaches(() => [readCachedAccesses(policyNow()), readQueryForms(live)])
  const credentialPorts = {
    storage,
    clock,
    barrier,
    catalog,
    scheduler,
    isAlone: lifetime.isAlone,
    contextOf: outerContext,
    outside: outside.run,
  }
  const credentials = createVaultCredentials(credentialPorts)
  const within = (units: UnitFactory, calls: Lifetime): VaultInTransaction<S, Role> => {
    const own = { files: files.inTransaction, indexHeads: new HeadCache(), joined: undefined }
    const sharedInside = { ...shared, units, lifetime: calls, ...own }
    return { as: (caller) => createSession<S>({ context: contextIn(sharedInside, parseCaller(caller)), vault: undefined }) }
  }
  const ofSchema = createVaultSchema({ ...keyPorts, barrier, indexNotes: merges.notes })
  const ofOperators = {
    ...createVaultMaintenance({ ...shared, live, storage, whole: keyed.whole, files, outside, jobs, merges }),
    ...createVaultOverview({ ...shared, live, storage, files, outside }),
    ...createVaultKeys({ ...keyPorts, storage: keyed.sealed }),
    ...createVaultAudit({ ...shared, live, timer: options.timer, outside, jobs }),
  }
  const administered: Administered = {
    ...ofOperators,
    async planOwnSchema() {
      if (options.schema === storedSchema) return null
      const plan = await ofSchema.planSchemaChange(options.schema, {}, { readsRecords: false })
      return plan.steps.length + plan.refusals.length + plan.leftOut.length === 0 ? null : plan
    },
  }
  return {
    id,
    accountId,
    get schema() {
      return shared.readSchema()
    },
    as: (caller) => createSession<S>({ context: outerContext(parseCaller(caller)), vault: administered }),
    transaction: (work, transacting) =>
      outside.run('The transaction failed.', (run) => {
        assertFunction(work, 'The transaction failed. The work of a transaction must be a function.')
        const retries = withVerb('The transaction', () => parseRetries(transacting))
        return retryAborted(retries, options, () =>
          factories.transact((units) => {
            const calls = createTransactionLifetime()
            return calls.run(() => run(() => work(within(units, calls))))
          }),
        )
      }),
    withTransaction: (hostTransaction) =>
      within(
        withVerb('Join', () => factories.join(hostTransaction)),
        lifetime,
      ),
    ...ofOperators,
    ...ofSchema,
    ...createVaultDisk({ ...options, outside, jobs }),
    ...createVaultRetention({ ...keyPorts, barrier, live, limits, files, merges }),
    ...createVaultLookups({ ...keyPorts, barrier, live }),
    ...createVaultSubjects({ ...shared, outside, contextOf: contextOfCalls }),
    downloadWithTicket: (ticket, opening, request) => files.download(ticket, opening, request),
    uploadWithTicket: (ticket, given, request) => files.upload(ticket, given, request),
    credentials,
    recordRefusal: (refusal) => guard('Request failed.', () => recordRefusal(credentialPorts, refusal)),
    explain: (caller, action, name, explaining) =>
      withVerb('Explain', () => {
        const explained = parseCaller(caller)
        return readInput(() => {
          assertOptions<ExplainOptions>(explaining === undefined ? {} : explaining, ['record'])
          return explainAccess(policyNow(), explained, { action, table: requireTable(live, name), ...explaining })
        })
      }),
    checkPolicy: () => findIdleStatements(policyNow()),
    explainQuery: (query: string | SqlQuery, second: readonly QueryValue[] | Caller, third?: Caller) =>
      withVerb('Query', () => {
        lifetime.assertOpen()
        const { values, caller } = toExplained(second, third)
        const { layout } = live
        return explainQuery(
          { barrier, layout, access: accessOf(policyNow(), parseCaller(caller)) },
          readQuery(query, { layout, idName: RECORD_ID_NAME, limits }, values),
        )
      }),
    close,
    async [Symbol.asyncDispose]() {
      await close()
    },
  }
}

/** Waits for work, for a time at most. Returns what is left of the time, in milliseconds; undefined without a limit. Throws the error of the work. */
async function waitAtMost(
  work: Promise<void>,
  limitMs: number,
  { timer, stopwatch }: Pick<OpenOptions<SchemaDefinition>, 'timer' | 'stopwatch'>,
): Promise<number | undefined> {
  if (limitMs === Number.POSITIVE_INFINITY) return void (await work)
  const end = stopwatch.now() + limitMs
  let stop = (): void => {}
  const late = new Promise<void>((resolve) => {
    stop = timer.after(limitMs, resolve)
  })
  await Promise.race([work, late])
  stop()
  return Math.max(0, Math.floor(end - stopwatch.now()))
}

/** Throws `invalid_request` for anything but a function: calling it would throw an error of the engine, as if it were the callback's own. */
function assertFunction(callback: unknown, sentence: string): void {
  if (typeof callback !== 'function') throw new VaultError('invalid_request', sentence)
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
  { events, log, ...shared }: UnitResources,
): UnitFactories {
  const ports = { storage, scheduler, clock, ...shared }
  if (audit === 'off') return unrecordedUnits(ports)
  return recordedUnits({ ...ports, chains: createChainPool(storage, events, entropy), events, log })
}

/** What the units of a vault share with its calls. */
interface UnitResources {
  readonly events: EventStore
  readonly catalog: CatalogFence
  readonly log: Log | undefined
  readonly onCommit: OnCommit
  readonly trackReads: TrackReads | undefined
  isAlone(): boolean
}
