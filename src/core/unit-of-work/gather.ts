/** Gathers inserts and events of one event-loop turn, and stores them as one list, so that many callers share one commit. */
import { isVaultError, mayBeStored } from '../errors.ts'
import type { NewRow } from '../ports/storage.ts'
import type { Scheduler } from '../ports/time.ts'
import { append } from '../util/lists.ts'
import { createTurnSaver } from '../util/time.ts'
import type { Batch } from './unit-of-work.ts'

/** Stores a list of items, all or none. Resolves when they are stored. */
export type Send<T> = (items: readonly T[]) => Promise<void>

/** The turns of the event loop, and who else acts in them. */
export interface EventLoopTurns {
  readonly scheduler: Scheduler
  /** True if no call is in progress besides the one that asks. */
  isAlone(): boolean
  readonly onCommit?: OnCommit
}

/** Options of a group commit. */
export interface GroupCommitOptions<T> extends EventLoopTurns {
  /** Returns the weight of an item, such as its number of rows. */
  weightOf(item: T): number
  /** Maximum weight of a list. */
  readonly maxWeight: number
  /** True if an item of a failed list is to be sent alone, so that only the ones fail that the error is about. */
  retriesAlone(error: unknown, item: T): boolean
}

/** One item of a list, and the functions that settle the promise of its caller. */
interface Waiting<T> {
  readonly item: T
  stored(): void
  failed(error: unknown): void
}

/**
 * Turns that a list of several items waits for at most, while each of them brings another item. Requests of many connections arrive in
 * turns that follow each other, and a commit costs as much as many turns.
 */
const MAX_FURTHER_TURNS = 8

/**
 * Returns a function that adds one item. A list is sent at the end of the event-loop turn that opened it, or after the turns that added
 * more items, or at once for a call that is alone, as those before it were. It never waits for the list before: that one may be blocked by
 * a lock whose holder waits for this item. Source: docs/inside/commits.md.
 */
export function createGroupCommit<T>(
  send: Send<T>,
  { scheduler, isAlone, weightOf, maxWeight, retriesAlone }: GroupCommitOptions<T>,
): (item: T) => Promise<void> {
  let gathering: Waiting<T>[] = []
  let weight = 0
  const turns = createTurnSaver()

  async function sendList(list: readonly Waiting<T>[]): Promise<void> {
    try {
      await send(list.map(({ item }) => item))
      for (const { stored } of list) stored()
    } catch (error) {
      for (const { item, failed } of list) failed(list.length > 1 && retriesAlone(error, item) ? RETRY_ALONE : error)
    }
  }

  function begin(): Waiting<T>[] {
    const list: Waiting<T>[] = []
    gathering = list
    weight = 0
    const end = () => {
      if (gathering === list) gathering = []
      turns.noteLength(list.length)
      return sendList(list)
    }
    // The list is sent even if the scheduler fails, because its callers wait for it.
    void gathered(list).then(end, end)
    return list
  }

  /** Resolves after the turn of the list. If it has several items then, resolves after the first turn without another one. */
  async function gathered(list: readonly Waiting<T>[]): Promise<void> {
    await scheduler.yield()
    for (let known = 1, turn = 0; list.length > known && gathering === list && turn < MAX_FURTHER_TURNS; turn++) {
      known = list.length
      await scheduler.yield()
    }
  }

  function join(item: T): Promise<void> {
    return new Promise((stored, failed) => {
      const own = weightOf(item)
      const list = gathering.length > 0 && weight + own <= maxWeight ? gathering : begin()
      list.push({ item, stored, failed })
      weight += own
    })
  }

  /** Sends an item alone whose list failed. Sent here, it has the asynchronous context of its own caller, which engines can read. */
  function joinOrRetry(item: T): Promise<void> {
    return join(item).catch((error: unknown) => {
      if (error !== RETRY_ALONE) throw error
      return send([item])
    })
  }

  return (item) => (gathering.length === 0 && isAlone() && turns.saves() ? send([item]) : joinOrRetry(item))
}

/** Rejects an item of a failed list that must be sent alone. */
const RETRY_ALONE = new Error('the list failed; each of its items is sent alone')

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
    // Inserts whose ids came too late get others, and meet again. An item without a row of their table is sent alone.
    retriesAlone: (error, { batches }) => !mayBeStored(error) && !(isIdConflict(error) && haveRowsOf(batches, error)),
  })
  return (insert) => (isSmall(insert.batches) ? grouped(insert) : send([insert]))
}

/** Returns a function that stores one event; the events of one turn share a commit. */
export function groupEvents<T>(loop: EventLoopTurns, send: Send<T>): (event: T) => Promise<void> {
  const retriesAlone = (error: unknown) => !mayBeStored(error)
  return createGroupCommit(send, { ...loop, maxWeight: MAX_ROWS_TOGETHER, weightOf: () => 1, retriesAlone })
}

/** True if there are rows of the table of a conflict. */
function haveRowsOf(batches: readonly Batch[], error: unknown): boolean {
  const [detail] = isVaultError(error, 'conflict') ? error.details : []
  return batches.some(({ table, rows }) => table === detail?.table && rows.length > 0)
}

/** Returns the rows of all inserts, one batch for each table, in the order in which the tables first occur. */
export function mergeBatches(inserts: readonly { readonly batches: readonly Batch[] }[]): Batch[] {
  const [only] = inserts
  if (only !== undefined && inserts.length === 1) return [...only.batches]
  const tables = new Map<string, NewRow[]>()
  for (const { batches } of inserts) {
    for (const { table, rows } of batches) {
      const merged = tables.get(table)
      if (merged === undefined) tables.set(table, [...rows])
      else append(merged, rows)
    }
  }
  return [...tables].map(([table, rows]) => ({ table, rows }))
}

function countRows(batches: readonly Batch[]): number {
  return batches.reduce((sum, { rows }) => sum + rows.length, 0)
}

function isSmall(batches: readonly Batch[]): boolean {
  if (countRows(batches) > MAX_ROWS_TO_SHARE) return false
  let length = 0
  for (const { rows } of batches) {
    for (const row of rows) {
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
