/** What runs as one, and how each of it ends: the contract, what items of one turn share, such as a commit, and commits whose end is in doubt. */

import { type AppendedEvents, CHAIN_CONFLICT, type EventStore, type NextEvents } from '../audit-log/event-store.ts'
import { isVaultError, mayBeStored } from '../errors.ts'
import type { NewRow, Storage } from '../ports/storage.ts'
import type { Scheduler } from '../ports/time.ts'
import { AUDIT_EVENTS } from '../schema/system-tables.ts'
import { append, required } from '../util/lists.ts'
import { createTurnSaver } from '../util/time.ts'
import { DeltaBatch, joinDeltas } from './delta-batch.ts'
import type { Batch } from './unit-of-work.ts'

/** Nothing of it is stored, and nothing is said about it: it runs by itself. */
export const ALONE: unique symbol = Symbol('runs by itself')

/** How one of several ended that ran as one: with its result, with an error that is its own, or ALONE. */
export type End<Result> = { readonly value: Result } | { readonly error: unknown } | typeof ALONE

/** How items run as one. */
export interface AsOne<Item, Result> {
  /** Runs items, and returns how each ended, in order. Throws a fault of the whole: nothing is stored then, unless `mayBeStored`. */
  run(items: readonly Item[]): Promise<readonly End<Result>[]>
  /** True if a fault of the whole is about this item. Default: of several, it is known of none. */
  readonly isFaultOf?: ((error: unknown, item: Item) => boolean) | undefined
}

/**
 * Runs items as one, and returns how each ended. Never throws: a fault of the whole is the error of those that it is about, or of all if it may be
 * stored. The others run by themselves. Nowhere else is an error handed to several.
 */
export async function runAsOne<Item, Result>(
  { run, isFaultOf = neverKnown }: AsOne<Item, Result>,
  items: readonly Item[],
): Promise<readonly End<Result>[]> {
  try {
    return await run(items)
  } catch (error) {
    const isOfAll = items.length === 1 || mayBeStored(error)
    return items.map((item) => (isOfAll || isFaultOf(error, item) ? { error } : ALONE))
  }
}

/**
 * Returns the result of an item, or throws its error. Called by its own caller: what runs by itself has the asynchronous context of that one, which
 * engines read.
 */
export function resolveEnd<Result>(end: End<Result>, alone: () => Promise<Result>): Result | Promise<Result> {
  if (end === ALONE) return alone()
  if ('error' in end) throw end.error
  return end.value
}

/** True for an item that ended with a result. */
export function hasValue(end: End<unknown> | undefined): boolean {
  return end !== undefined && end !== ALONE && 'value' in end
}

function neverKnown(): boolean {
  return false
}

/** Stores a list of items, all or none. Resolves when they are stored. */
export type Send<T> = (items: readonly T[]) => Promise<void>

/** The turns of the event loop, and who else acts in them. */
export interface EventLoopTurns {
  readonly scheduler: Scheduler
  /** True if no call is in progress besides the one that asks. */
  isAlone(): boolean
  readonly onCommit?: OnCommit
}

/** Options of lists that gather. */
export interface GatherOptions<T> extends EventLoopTurns {
  /** Returns the weight of an item, such as its number of rows. */
  weightOf(item: T): number
  /** Maximum weight of a list. */
  readonly maxWeight: number
}

/** Options of a group commit. */
export interface GroupCommitOptions<T> extends GatherOptions<T> {
  /** Source: `AsOne.isFaultOf`. */
  readonly isFaultOf?: AsOne<T, void>['isFaultOf']
}

/** One item of a list, and what ends the wait of its caller. */
interface Waiting<T, Result> {
  readonly item: T
  ended(end: End<Result>): void
}

/**
 * Turns that a list of several items waits for at most, while each of them brings another item. Requests of many connections arrive in
 * turns that follow each other, and a commit or a statement costs as much as many turns.
 */
const MAX_FURTHER_TURNS = 8

const STORED = { value: undefined }

/** Returns a function that stores one item; those that come together share a commit. Source: docs/inside/commits.md. */
export function createGroupCommit<T>(
  send: Send<T>,
  { isFaultOf, ...options }: GroupCommitOptions<T>,
): (item: T) => Promise<void> {
  const asOne: AsOne<T, void> = {
    isFaultOf,
    async run(items) {
      await send(items)
      return items.map(() => STORED)
    },
  }
  return gatherItems(asOne, (item) => send([item]), options)
}

/**
 * Returns a function that adds one item, and returns its result. A list runs at the end of the event-loop turn that opened it, or after the turns
 * that added more items, or at once for a call that is alone, as those before it were. It never waits for the list before: that one may be blocked
 * by a lock whose holder waits for this item. What a list reads, it reads after the last of its items was added.
 */
export function gatherItems<T, Result>(
  asOne: AsOne<T, Result>,
  runAlone: (item: T) => Promise<Result>,
  { scheduler, isAlone, weightOf, maxWeight }: GatherOptions<T>,
): (item: T) => Promise<Result> {
  let gathering: Waiting<T, Result>[] = []
  let weight = 0
  const turns = createTurnSaver()

  async function runList(list: readonly Waiting<T, Result>[]): Promise<void> {
    const items = list.map(({ item }) => item)
    const ends = await runAsOne(asOne, items)
    for (let index = 0; index < list.length; index++) list[index]?.ended(required(ends[index]))
  }

  function begin(): Waiting<T, Result>[] {
    const list: Waiting<T, Result>[] = []
    gathering = list
    weight = 0
    const end = () => {
      if (gathering === list) gathering = []
      turns.noteLength(list.length)
      return runList(list)
    }
    // The list runs even if the scheduler fails, because its callers wait for it.
    void gathered(list).then(end, end)
    return list
  }

  /** Resolves after the turn of the list. If it has several items then, resolves after the first turn without another one. */
  async function gathered(list: readonly Waiting<T, Result>[]): Promise<void> {
    await scheduler.yield()
    for (let known = 1, turn = 0; list.length > known && gathering === list && turn < MAX_FURTHER_TURNS; turn++) {
      known = list.length
      await scheduler.yield()
    }
  }

  function join(item: T): Promise<End<Result>> {
    return new Promise((ended) => {
      const own = weightOf(item)
      const list = gathering.length > 0 && weight + own <= maxWeight ? gathering : begin()
      list.push({ item, ended })
      weight += own
    })
  }

  return (item) => {
    const alone = () => runAlone(item)
    if (gathering.length === 0 && isAlone() && turns.saves()) return alone()
    return join(item).then((end) => resolveEnd(end, alone))
  }
}

/** Maximum number of rows of an insert that shares a commit. A larger one gains little. */
const MAX_ROWS_TO_SHARE = 16
/** Maximum length of the cells of an insert that shares a commit, in bytes and UTF-16 units. */
const MAX_LENGTH_TO_SHARE = 64 * 1024
/** Maximum number of rows, or of events, in a shared transaction. */
const MAX_ROWS_TOGETHER = 256

/** An insert, and the generation of the catalog it was made with. */
export interface GroupedInsert {
  readonly batches: readonly Batch[]
  readonly generation: number
}

/** Returns the generation that changes have in common, or the oldest. The group then fails, and each change is stored alone. */
export function oldestGeneration(changes: readonly { readonly generation: number }[]): number {
  return changes.reduce((oldest, { generation }) => Math.min(oldest, generation), Number.POSITIVE_INFINITY)
}

/** Returns a function that inserts: small inserts share a commit, large ones are sent alone. */
export function groupInserts<T extends GroupedInsert>(loop: EventLoopTurns, send: Send<T>): (insert: T) => Promise<void> {
  const grouped = createGroupCommit(send, {
    ...loop,
    maxWeight: MAX_ROWS_TOGETHER,
    weightOf: ({ batches }) => countRows(batches),
    // Those whose ids came too late get others, and meet again.
    isFaultOf: (error, { batches }) => isIdConflict(error) && haveRowsOf(batches, error),
  })
  return (insert) => (isSmall(insert.batches) ? grouped(insert) : send([insert]))
}

/** Returns a function that stores one event; the events of one turn share a commit. */
export function groupEvents<T>(loop: EventLoopTurns, send: Send<T>): (event: T) => Promise<void> {
  return createGroupCommit(send, { ...loop, maxWeight: MAX_ROWS_TOGETHER, weightOf: () => 1 })
}

/** True if there are rows of the table of a conflict. */
function haveRowsOf(batches: readonly Batch[], error: unknown): boolean {
  const [detail] = isVaultError(error, 'conflict') ? error.details : []
  return batches.some(({ table, rows }) => table === detail?.table && rows.length > 0)
}

/** Returns the rows of all inserts, one batch for each table, in the order in which the tables first occur, and as few deltas for each table of records as hold theirs. */
export function mergeBatches(inserts: readonly { readonly batches: readonly Batch[] }[]): Batch[] {
  const [only] = inserts
  if (only !== undefined && inserts.length === 1) return [...only.batches]
  const tables = new Map<string, NewRow[]>()
  const deltas: DeltaBatch[] = []
  for (const { batches } of inserts) {
    for (const batch of batches) {
      if (batch instanceof DeltaBatch) {
        deltas.push(batch)
        continue
      }
      const { table, rows } = batch
      const merged = tables.get(table)
      if (merged === undefined) tables.set(table, [...rows])
      else append(merged, rows)
    }
  }
  return [...[...tables].map(([table, rows]) => ({ table, rows })), ...joinDeltas(deltas)]
}

/** Returns the number of rows, without those of deltas: they are not sealed yet, and become few. */
function countRows(batches: readonly Batch[]): number {
  return batches.reduce((sum, batch) => (batch instanceof DeltaBatch ? sum : sum + batch.rows.length), 0)
}

function isSmall(batches: readonly Batch[]): boolean {
  if (countRows(batches) > MAX_ROWS_TO_SHARE) return false
  let length = 0
  for (const batch of batches) {
    if (batch instanceof DeltaBatch) continue
    for (const row of batch.rows) {
      for (const column in row) {
        const cell = row[column]
        if (typeof cell === 'string' || cell instanceof Uint8Array) length += cell.length
      }
    }
  }
  return length <= MAX_LENGTH_TO_SHARE
}

/** True for a conflict of row ids in any table. The rows can be stored with others. Source: docs/decisions/0048. */
export function isIdConflict(error: unknown): boolean {
  if (!isVaultError(error, 'conflict')) return false
  const columns = error.details[0]?.columns
  return columns?.length === 1 && columns[0] === 'id'
}

/** Called after a commit, with the number of operations that it stored. Undefined without metrics. */
export type OnCommit = ((operations: number) => void) | undefined

/** Returns the result of a commit, after it was counted. Without metrics, returns the commit itself, so that it ends no later. */
export function noted<T>(onCommit: OnCommit, committed: Promise<T>, count: () => number): Promise<T> {
  if (onCommit === undefined) return committed
  return committed.then((result) => {
    onCommit(count())
    return result
  })
}

/** The progress of the last attempt of a transaction. */
export interface CommitProgress<T> {
  /** The last events it appended. */
  appended: AppendedEvents | undefined
  /** The result of its work. */
  result: { readonly value: T } | undefined
}

/** The storage of a vault and its events. */
interface InDoubtPorts {
  readonly storage: Storage
  readonly events: EventStore
}

/**
 * Runs a transaction and returns its result. If the outcome of COMMIT is unknown but its event is stored, it committed, and the result
 * is returned. If storage cannot be read either, throws the error of the transaction. Source: docs/security.md.
 */
export async function resolveInDoubtCommit<T>(ports: InDoubtPorts, run: (progress: CommitProgress<T>) => Promise<T>): Promise<T> {
  const progress: CommitProgress<T> = { appended: undefined, result: undefined }
  try {
    return await run(progress)
  } catch (error) {
    const { appended, result } = progress
    if (appended === undefined || result === undefined) throw error
    await assertStored(ports, appended, error)
    return result.value
  }
}

/** Throws the error of the commit that appended events, unless the outcome of the commit is unknown and they are stored. */
async function assertStored({ storage, events }: InDoubtPorts, appended: AppendedEvents, error: unknown): Promise<void> {
  if (!mayBeStored(error) || !(await events.isStored(storage, appended).catch(() => false))) throw error
}

/** Forgets the head of events whose one call failed, and throws: CHAIN_CONFLICT if another chain must be used, else the error, unless they are stored. */
export async function resolveNext(ports: InDoubtPorts, { undo, appended }: NextEvents, error: unknown): Promise<void> {
  undo()
  if (isAuditConflict(error)) throw CHAIN_CONFLICT
  await assertStored(ports, appended, error)
}

/** True if a row of the audit trail has the id of a new event: the chain was changed in the database. */
function isAuditConflict(error: unknown): boolean {
  return isVaultError(error, 'conflict') && error.details[0]?.table === AUDIT_EVENTS.name
}
