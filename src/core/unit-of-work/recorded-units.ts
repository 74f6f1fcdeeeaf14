/** Units of work with the audit on: a change and its event commit in one transaction, appended to a chain of the audit trail. */
import { type EventDraft, OUTCOME_UNKNOWN, type Outcome, ROLLED_BACK, SUCCESS } from '../audit/event.ts'
import { type ChainPool, retryOnConflict, retryWhileBusy } from '../audit-log/chain-pool.ts'
import type { EventStore, EventsToAppend, NextEvents } from '../audit-log/event-store.ts'
import { OUTDATED } from '../barrier/barrier.ts'
import { isVaultError, mayBeStored, VaultError } from '../errors.ts'
import type { Log } from '../ports/observability.ts'
import type { Changes, Storage, StorageHandle } from '../ports/storage.ts'
import type { Clock } from '../ports/time.ts'
import { attempt } from '../util/attempt.ts'
import { bareCause } from '../util/causes.ts'
import {
  type CommitProgress,
  type End,
  type EventLoopTurns,
  type GroupedInsert,
  groupEvents,
  groupInserts,
  hasValue,
  mergeBatches,
  noted,
  type OnCommit,
  oldestGeneration,
  resolveInDoubtCommit,
  resolveNext,
} from './gather.ts'
import type { BeginReads, TrackReads } from './read-versions.ts'
import { createTurns, runEach, type SharedChange } from './turns.ts'
import {
  type Batch,
  type BuildEvent,
  type CatalogGeneration,
  type ChangeOptions,
  type GetRecorded,
  insertInOrder,
  type RecordedChange,
  type RecordedRow,
  type RecordingStorage,
  trackingFactoryOf,
  type UnitFactories,
  type UnitFactory,
  unitFactoryOf,
} from './unit-of-work.ts'

/** The dependencies of recorded units. */
export interface RecordedPorts extends EventLoopTurns {
  readonly storage: StorageHandle
  readonly clock: Clock
  readonly chains: ChainPool
  readonly events: EventStore
  readonly catalog: CatalogGeneration
  readonly trackReads: TrackReads | undefined
  readonly log: Log | undefined
}

/** Returns the unit factories of a vault with the audit on. */
export function recordedUnits(ports: RecordedPorts): UnitFactories {
  const outer = recordingOutside(ports)
  return {
    outer: unitFactoryOf(outer, ports.catalog),
    transact: (work) => transact(ports, outer, work),
    join: (hostTransaction) => joinHostTransaction(ports, hostTransaction),
    release: () => ports.chains.release(),
  }
}

/** Outside any transaction, each change has its own. Small inserts, and single events, of one event-loop turn share one. */
function recordingOutside(ports: RecordedPorts): RecordingStorage {
  const { storage, scheduler, clock, isAlone, onCommit, chains, events, catalog } = ports
  function within<T>(work: RecordedWork<T>['work'], draft: () => EventsToAppend, options?: ChangeOptions): Promise<T> {
    let operations = 0
    const counted = () => {
      const toAppend = draft()
      operations = toAppend.drafts.length
      return toAppend
    }
    const committed = chains.withChain((chain) =>
      resolveInDoubtCommit({ storage, events }, (progress: CommitProgress<T>) =>
        transactOn(chain, { work, draft: counted, progress, options }),
      ),
    )
    return noted(onCommit, committed, () => operations)
  }
  function transactOn<T>(chain: number, { work, draft, progress, options }: RecordedWork<T>): Promise<T> {
    return storage.transaction(async (inner) => {
      const value = await work(inner)
      progress.appended = await events.append(inner, chain, draft())
      options?.onEvent?.(progress.appended.row)
      progress.result = { value }
      return value
    }, options)
  }
  /** Stores rows and events in one call if the head of the chain is known, else in a transaction that reads it. */
  async function storeOn(chain: number, batches: readonly Batch[], toAppend: EventsToAppend): Promise<void> {
    const next = events.next(chain, toAppend)
    if (next !== undefined) {
      try {
        if (await storage.commit(changesOf(next, batches))) return
      } catch (error) {
        return await resolveNext({ storage, events }, next, error)
      }
      next.undo()
    }
    await resolveInDoubtCommit({ storage, events }, (progress: CommitProgress<void>) =>
      transactOn(chain, { work: (inner) => insertInOrder(inner, batches), draft: () => toAppend, progress }),
    )
  }
  function store(batches: readonly Batch[], toAppend: EventsToAppend): Promise<void> {
    const stored = chains.withChain((chain) => storeOn(chain, batches, toAppend))
    return noted(onCommit, stored, () => toAppend.drafts.length)
  }
  const insert = groupInserts<GroupedInsert & { readonly event: EventDraft }>({ scheduler, isAlone }, (inserts) =>
    store(mergeBatches(inserts), { drafts: inserts.map(({ event }) => event), generation: oldestGeneration(inserts) }),
  )
  const record = groupEvents<EventDraft>({ scheduler, isAlone }, (drafts) =>
    underNewestKeys(catalog, storage, () => store([], { drafts, generation: undefined })),
  )
  const turns = createTurns<RecordedChange>((changes) => {
    let ends: readonly End<void>[] = []
    const work = async (inner: Storage) => {
      ends = await runEach(inner, changes, { clock, scheduler })
      return ends
    }
    return within(work, () => eventsOf(changes.filter((_, index) => hasValue(ends[index]))))
  })
  return {
    storage,
    insert: (batches, { build, generation }) => insert({ batches, generation, event: build(SUCCESS) }),
    change: (work, { build, generation, options }) => within(work, () => ({ drafts: [build(SUCCESS)], generation }), options),
    changeInTurn: turns.run,
    record,
    getRecorded: recordedReads(ports),
  }
}

/** Work of one transaction, and the events that it appends. */
interface RecordedWork<T> {
  work(storage: Storage): Promise<T>
  draft(): EventsToAppend
  readonly progress: CommitProgress<T>
  readonly options?: ChangeOptions | undefined
}

/** Returns the changes that store new rows before the events. */
function changesOf({ changes: { updates, inserts } }: NextEvents, batches: readonly Batch[]): Changes {
  if (batches.length === 0) return { updates, inserts }
  return { updates, inserts: [...batches.filter(({ rows }) => rows.length > 0), ...inserts] }
}

/** Returns the events of changes that share a transaction. */
function eventsOf(changes: readonly SharedChange<RecordedChange>[]): EventsToAppend {
  const drafts = changes.map(({ own: { build } }) => build(SUCCESS))
  return { drafts, generation: oldestGeneration(changes.map(({ own }) => own)) }
}

/**
 * Runs work in one transaction. If it rolls back, the events of its reads, refusals and failures are recorded
 * again outside, and those of its changes as rolled back. So a rollback does not hide a read.
 */
async function transact<T>(ports: RecordedPorts, outer: RecordingStorage, work: (units: UnitFactory) => Promise<T>): Promise<T> {
  const { storage, chains, events, catalog, trackReads } = ports
  const attempts: TransactionEvents[] = []
  let isRolledBack = true
  let operations = 0
  try {
    const result = await chains.withChain((first, takeAnother) =>
      resolveInDoubtCommit({ storage, events }, (progress: CommitProgress<T>) =>
        storage.transaction(
          async (inner) => {
            const recorded = new TransactionEvents()
            attempts.push(recorded)
            operations = 0
            let chain = first
            const units = unitsInside({
              storage: inner,
              beginReads: trackReads?.(inner),
              catalog,
              recorded,
              async append(within, event) {
                progress.appended = await events.append(within, chain, event)
                operations += event.drafts.length
              },
              async changeChain(within) {
                chain = await takeAnother(within)
              },
            })
            const value = await work(units)
            progress.result = { value }
            return value
          },
          { takesTurns: true, runsOnce: true },
        ),
      ),
    )
    attempts.pop()
    ports.onCommit?.(operations)
    return result
  } catch (error) {
    isRolledBack = !mayBeStored(error)
    throw error
  } finally {
    await recordAfterFailure(outer, ports.log, attempts, isRolledBack)
  }
}

/** Records the events of failed attempts outside. All attempts before the last have rolled back for certain. */
async function recordAfterFailure(
  outer: RecordingStorage,
  log: Log | undefined,
  attempts: readonly TransactionEvents[],
  isRolledBack: boolean,
): Promise<void> {
  const last = attempts.length - 1
  const events = attempts.flatMap((recorded, index) => recorded.afterFailure(isRolledBack || index < last))
  const results = await Promise.allSettled(events.map((event) => outer.record(event)))
  const lost = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  if (lost.length === 0) return
  const code = isVaultError(lost[0]) ? lost[0].code : 'internal'
  log?.error({ events: lost.length, code }, 'audit events of a rolled-back transaction not stored')
}

/** Inside a transaction of the application, events commit or roll back with it, because only the application knows its outcome. */
function joinHostTransaction(
  { storage: handle, chains, events, catalog, trackReads }: RecordedPorts,
  hostTransaction: unknown,
): UnitFactory {
  let lease: ReturnType<ChainPool['lease']> | undefined
  const storage = handle.joinTransaction(hostTransaction)
  return unitsInside({
    storage,
    beginReads: trackReads?.(storage),
    catalog,
    recorded: undefined,
    async append(within, event) {
      // After a failure the next call leases anew: the application can roll back to a savepoint and go on.
      lease ??= chains.lease(within).catch((error: unknown) => {
        lease = undefined
        throw error
      })
      const { chain, appended } = await lease
      appended((await events.append(within, chain, event)).sequence)
    },
    async changeChain(within) {
      const last = lease
      lease = undefined
      await (await last)?.giveUp(within)
    },
  })
}

/** An open transaction, and the chain of its events. */
interface OpenTransaction {
  readonly storage: Storage
  /** Begins the reads of one operation; undefined for an engine with one writer at a time. */
  readonly beginReads: BeginReads | undefined
  readonly catalog: CatalogGeneration
  /** The events to record again after a rollback; undefined in a transaction of the application. */
  readonly recorded: TransactionEvents | undefined
  /** Appends an event to the chain of the transaction. */
  append(storage: Storage, event: EventsToAppend): Promise<void>
  /** Replaces a chain that cannot be appended to. `storage` is the innermost one that is open. */
  changeChain(storage: Storage): Promise<void>
}

/**
 * Inside a transaction each call is a savepoint: a change that fails and is caught rolls back alone, and appends never interleave.
 * After a chain conflict only the call runs again, in another chain; the work of the transaction is not affected.
 */
function unitsInside(open: OpenTransaction): UnitFactory {
  const { storage, beginReads, catalog } = open
  return beginReads === undefined
    ? unitFactoryOf(recordingInside(open, storage), catalog)
    : trackingFactoryOf(beginReads, (tracked) => recordingInside(open, tracked), catalog)
}

function recordingInside({ catalog, recorded, append, changeChain }: OpenTransaction, storage: Storage): RecordingStorage {
  const appendOne = (within: Storage, event: EventsToAppend): Promise<void> =>
    retryWhileBusy(
      () => append(within, event),
      () => changeChain(within),
    )
  async function change<T>(work: (storage: Storage) => Promise<T>, { build, generation }: RecordedChange): Promise<T> {
    const result = await retryOnConflict(
      () =>
        storage.transaction(async (inner) => {
          const value = await work(inner)
          await appendOne(inner, { drafts: [build(SUCCESS)], generation })
          return value
        }),
      () => changeChain(storage),
    )
    recorded?.addChange(build)
    return result
  }
  return {
    storage,
    change,
    insert: (batches, recordedChange) => change((inner) => insertInOrder(inner, batches), recordedChange),
    async record(event) {
      recorded?.addEvent(event)
      await retryOnConflict(
        () =>
          underNewestKeys(catalog, storage, () =>
            storage.transaction((inner) => appendOne(inner, { drafts: [event], generation: undefined })),
          ),
        () => changeChain(storage),
      )
    },
  }
}

/** Stores events of reads, refusals and failures, and stores them again after the catalog was read again, if another process changed it: nothing was stored then. */
function underNewestKeys(catalog: CatalogGeneration, storage: Storage, store: () => Promise<void>): Promise<void> {
  return attempt([{ ...OUTDATED, between: () => catalog.reload(storage) }], store)
}

/** The dependencies of recorded reads. */
export interface RecordedReadPorts {
  readonly storage: StorageHandle
  readonly chains: ChainPool
  readonly events: EventStore
  /** True if no call is in progress besides the one that asks: others would share a read and a commit. */
  isAlone(): boolean
  readonly onCommit?: OnCommit
}

/** Returns undefined for an engine with serial transactions, which runs in this process: there a round trip costs less than its work. */
function recordedReads({ storage, chains, events, isAlone, onCommit }: RecordedReadPorts): GetRecorded | undefined {
  if (storage.transactions === 'serial') return undefined

  async function getOn(chain: number, [table, id, event]: Parameters<GetRecorded>): Promise<RecordedRow | undefined> {
    const next = events.next(chain, { drafts: [event()], generation: undefined })
    if (next === undefined) return undefined
    try {
      const row = await storage.commit(next.changes, { read: { table, id } })
      if (typeof row === 'object') return { row, isRecorded: true }
      next.undo()
      return row === undefined ? { row, isRecorded: false } : undefined
    } catch (error) {
      await resolveNext({ storage, events }, next, error)
      return { row: (await storage.get(table, [id]))[0], isRecorded: true }
    }
  }

  return async (...read) => {
    if (!isAlone()) return undefined
    try {
      const found = await chains.withChain((chain) => getOn(chain, read))
      if (found?.isRecorded === true) onCommit?.(1)
      return found
    } catch (error) {
      // A read changes nothing, so it is not in doubt for its caller.
      if (isVaultError(error, 'outcome_unknown')) throw new VaultError('unavailable', LOST, {}, { cause: bareCause(error.code) })
      // The storage cannot be reached, as for any read. What else failed shows why when the event is stored after the read.
      if (isVaultError(error, 'unavailable')) throw error
      return undefined
    }
  }
}

const LOST = 'The connection was lost while the audit event was stored, so no result is returned. Check the storage, then retry.'

/** A list of events in order. An event that is recorded again in another chain counts once. */
class TransactionEvents {
  readonly #recorded = new Map<EventDraft | BuildEvent, (outcome: Outcome) => EventDraft>()

  /** Adds the event of a read, a refusal or a failure. A rollback does not change it. */
  addEvent(event: EventDraft): void {
    this.#recorded.set(event, () => event)
  }

  /** Adds the event of a change. A rollback changes its outcome. */
  addChange(build: BuildEvent): void {
    this.#recorded.set(build, build)
  }

  /** Returns the events after the transaction failed. Changes are rolled back or, if storage was lost during COMMIT, of unknown outcome. */
  afterFailure(isRolledBack: boolean): EventDraft[] {
    return [...this.#recorded.values()].map((build) => build(isRolledBack ? ROLLED_BACK : OUTCOME_UNKNOWN))
  }
}
