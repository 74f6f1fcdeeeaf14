/** The one writer of a file: a queue whose writers share commits, the wait while another process writes, and what was written since the log was moved. */
import { setTimeout as pause } from 'node:timers/promises'
import { isVaultError } from '../../core/errors.ts'
import type { Cell } from '../../core/ports/storage.ts'
import { attempt, jitteredMs, type Reason } from '../../core/util/attempt.ts'
import { createTurnSaver } from '../../core/util/time.ts'
import { outcomeUnknownError } from '../errors/storage-errors.ts'
import { command, type DriverConnection, OPEN_SAVEPOINT, RELEASE_SAVEPOINT, ROLLBACK_TO_SAVEPOINT } from './connection.ts'
import { type BlocksByTable, type LatestIds, returnBlocks } from './ids.ts'
import { isBusyError, isSyncError, rolledBackError } from './sqlite-errors.ts'

/** Something that wants to write. */
export interface Writer<T> {
  /** True when a failure leaves nothing behind even without a savepoint around it. */
  readonly isAtomic: boolean
  /** True for work that runs in the context of its caller, once. If it is rolled back with others, its error is one for which `wasInnocent` is true. */
  readonly runsOnce?: boolean
  /** True for one whose shared commit failed: the next has no other in it. */
  readonly isAlone?: boolean
  /** Called inside the shared transaction. */
  run(blocks: WriterBlocks): T | Promise<T>
}

/** Id blocks a writer may take ids from, and where what it leaves of new ones goes: to `own`, then to `group` once it is kept. */
export interface WriterBlocks {
  readonly group: BlocksByTable
  readonly own: BlocksByTable
  /** What the shared transaction knows of the ids that are committed. */
  readonly latest: LatestIds
}

export interface WriteQueue {
  /** Resolves after the commit. Rejects with the writer's own error, rolled back alone, or with the commit's. */
  push<T>(writer: Writer<T>): Promise<T>
  /**
   * Runs changes in a commit of their own, at once, if no writer waits and those before it came one by one. Returns false if they are to
   * be pushed: nothing ran then. Throws their own error, rolled back, or the commit's.
   */
  commitAtOnce(changes: (latest: LatestIds) => void): boolean
  /** Resolves when nothing waits and nothing runs. */
  idle(): Promise<void>
}

/** Writers one commit carries at most, and how long it may gather them. */
const MAX_GROUP_WRITERS = 256
const MAX_GROUP_MS = 10
/** How long groups may follow each other without a turn of the event loop: a commit can wait for the disk. */
const MAX_MS_WITHOUT_TURN = 4

const BEGIN = command('begin immediate')
const COMMIT = command('commit')
const ROLLBACK = command('rollback')

/** Errors of writers that were not at fault. */
const ofOthers = new WeakSet<object>()

/** True for the error of a writer that was rolled back with others: it can be pushed again, alone. */
export function wasInnocent(error: unknown): boolean {
  return typeof error === 'object' && error !== null && ofOthers.has(error)
}

interface Waiting {
  readonly writer: Writer<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** Called after every commit, before its writers resolve. Throws where the commit is not as durable as promised. */
type AfterCommit = () => void

export function createWriteQueue(connection: DriverConnection, committed: BlocksByTable, afterCommit: AfterCommit): WriteQueue {
  const waiting: Waiting[] = []
  const ending: Ending = { committed, afterCommit, retryWhileBusy: createRetryWhileBusy() }
  const turns = createTurnSaver()
  let lastTurn = Number.NEGATIVE_INFINITY
  let draining: Promise<void> | undefined

  const savesTurn = (): boolean => turns.saves() && performance.now() <= lastTurn + MAX_MS_WITHOUT_TURN

  async function drain(): Promise<void> {
    while (waiting.length > 0) {
      // One turn of the event loop, so that callers who act at the same time find themselves in the same group. Where the ones before
      // came one by one, the next goes at once.
      if (!savesTurn()) {
        await new Promise((resolve) => setImmediate(resolve))
        lastTurn = performance.now()
      }
      turns.noteLength(await runGroup(connection, waiting, ending))
    }
    draining = undefined
  }

  return {
    push<T>(writer: Writer<T>): Promise<T> {
      return new Promise<T>((resolve, reject) => {
        // The queue returns to each writer exactly what its own run returned.
        waiting.push({ writer, resolve: resolve as (value: unknown) => void, reject })
        draining ??= drain()
      })
    },
    commitAtOnce(changes) {
      if (draining !== undefined || !savesTurn()) return false
      if (beginsAtOnce(connection)) {
        runAlone(connection, changes, afterCommit)
        return true
      }
      // The call has waited for the lock, so the event loop has its turn before the next one waits.
      lastTurn = Number.NEGATIVE_INFINITY
      return false
    },
    async idle() {
      while (draining !== undefined) await draining
    },
  }
}

/** Returns false if another process writes. */
function beginsAtOnce(connection: DriverConnection): boolean {
  try {
    connection.run(BEGIN)
    return true
  } catch (error) {
    if (!isBusyError(error)) throw error
    return false
  }
}

function runAlone(connection: DriverConnection, changes: (latest: LatestIds) => void, afterCommit: AfterCommit): void {
  try {
    changes(new Map())
    connection.assertOpen()
    commit(connection)
    afterCommit()
  } catch (error) {
    rollBackQuietly(connection)
    throw error
  }
}

interface Ending {
  readonly committed: BlocksByTable
  readonly afterCommit: AfterCommit
  readonly retryWhileBusy: RetryWhileBusy
}

/** A writer that ran and waits for the commit. */
interface Kept {
  readonly waiter: Waiting
  readonly value: unknown
}

/** Returns the number of writers that the commit carried. */
async function runGroup(connection: DriverConnection, waiting: Waiting[], ending: Ending): Promise<number> {
  try {
    // Begins as soon as no other process writes.
    await ending.retryWhileBusy(() => connection.run(BEGIN))
  } catch (error) {
    for (const waiter of waiting.splice(0, MAX_GROUP_WRITERS)) waiter.reject(error)
    return 0
  }
  const kept: Kept[] = []
  const blocks: BlocksByTable = new Map()
  const lost = await gather(connection, waiting, { kept, blocks, latest: new Map() })
  const failure = lost ?? finish(connection, { kept, blocks }, ending)
  if (failure !== undefined) runAgain(waiting, kept, failure)
  return kept.length
}

/** Queues writers again, before all others, that are not at fault. Those that run only once get the error. */
function runAgain(waiting: Waiting[], kept: readonly Kept[], error: unknown): void {
  if (typeof error === 'object' && error !== null) ofOthers.add(error)
  const again: Waiting[] = []
  for (const { waiter } of kept) {
    if (waiter.writer.runsOnce === true) waiter.reject(error)
    else again.push({ ...waiter, writer: { ...waiter.writer, isAlone: true } })
  }
  for (const waiter of again.reverse()) waiting.unshift(waiter)
}

interface Group {
  readonly kept: Kept[]
  readonly blocks: BlocksByTable
  readonly latest: LatestIds
}

/** Runs writers one after the other until none waits or the group is full. Returns an error if the engine rolled all of them back. */
async function gather(connection: DriverConnection, waiting: Waiting[], group: Group): Promise<unknown> {
  const until = performance.now() + MAX_GROUP_MS
  let ran = 0
  for (let waiter = waiting.shift(); waiter !== undefined; waiter = waiting.shift()) {
    const lost = await runWriter(connection, waiter, group)
    if (!connection.isOpen()) return lost ?? rolledBackError()
    if (waiter.writer.isAlone === true || ++ran >= MAX_GROUP_WRITERS || performance.now() >= until) break
  }
  return undefined
}

/** Runs one writer in a savepoint of its own, unless it needs none. Returns the error of a storage that failed under it. */
async function runWriter(connection: DriverConnection, waiter: Waiting, { kept, blocks, latest }: Group): Promise<unknown> {
  const { writer } = waiter
  // The first to write needs no savepoint: undoing it is undoing everything.
  const inSavepoint = !writer.isAtomic && kept.length > 0
  const own: BlocksByTable = new Map()
  try {
    if (inSavepoint) connection.run(OPEN_SAVEPOINT)
    const value = await writer.run({ group: blocks, own, latest })
    connection.assertOpen()
    if (inSavepoint) connection.run(RELEASE_SAVEPOINT)
    returnBlocks(own, blocks)
    kept.push({ waiter, value })
    return undefined
  } catch (error) {
    const failure = connection.isOpen() ? undo(connection, writer, inSavepoint) : undefined
    // The transaction began again, and others can have committed before it did.
    if (!inSavepoint && !writer.isAtomic) latest.clear()
    waiter.reject(error)
    return failure ?? (isVaultError(error, 'unavailable') ? error : undefined)
  }
}

/** Undoes one failed writer. The transaction is open afterwards unless the engine failed. */
function undo(connection: DriverConnection, writer: Writer<unknown>, inSavepoint: boolean): unknown {
  try {
    if (inSavepoint) connection.run(ROLLBACK_TO_SAVEPOINT)
    else if (!writer.isAtomic) {
      connection.run(ROLLBACK)
      connection.run(BEGIN)
    }
    return undefined
  } catch (error) {
    rollBackQuietly(connection)
    return error
  }
}

/** Commits, then resolves the writers. Returns the error of a commit of several that stored nothing; any other error is that of all. */
function finish(
  connection: DriverConnection,
  { kept, blocks }: Omit<Group, 'latest'>,
  { committed, afterCommit }: Ending,
): unknown {
  let isCommitted = false
  try {
    if (kept.length === 0) connection.run(ROLLBACK)
    else commit(connection)
    isCommitted = true
    afterCommit()
  } catch (error) {
    rollBackQuietly(connection)
    if (kept.length > 1 && !isCommitted && !isVaultError(error, 'outcome_unknown')) return error
    for (const { waiter } of kept) waiter.reject(error)
    return undefined
  }
  returnBlocks(blocks, committed)
  for (const { waiter, value } of kept) waiter.resolve(value)
  return undefined
}

/** Throws `outcome_unknown` if the disk did not confirm the commit: it may have been written. */
function commit(connection: DriverConnection): void {
  try {
    connection.run(COMMIT)
  } catch (error) {
    if (!(error instanceof Error) || !isSyncError(error)) throw error
    throw outcomeUnknownError('The disk did not confirm the write', error)
  }
}

function rollBackQuietly(connection: DriverConnection): void {
  if (!connection.isOpen()) return
  try {
    connection.run(ROLLBACK)
  } catch {
    // SQLite had rolled it back already; the error being reported says why.
  }
}

/** How long another process may hold the file before waiting callers fail with `unavailable`. */
export const BUSY_TIMEOUT_MS = 10_000
/** A refusal this long after the one before is the beginning of another wait: in between, the file may have been free. */
const SAME_HOLD_MS = 1000
/** The first pause lasts up to 1 ms. */
const PAUSE = { firstMs: 1, maxMs: 16 }

/** Milliseconds that rise, and a pause in milliseconds. */
interface BusyClock {
  now(): number
  pause(ms: number): Promise<unknown>
}

const SYSTEM: BusyClock = { now: () => performance.now(), pause: (ms) => pause(ms) }

/** Runs work until the file is free, with growing, jittered pauses: SQLite's own wait would block the event loop. */
type RetryWhileBusy = <T>(work: () => T | Promise<T>) => Promise<T>

/**
 * Waits for at most 10 seconds from the first refusal of any caller. Work that comes while the file is still held after that,
 * such as recording that other work failed, is tried once: a caller waits once, not once for each step.
 */
export function createRetryWhileBusy({ now, pause }: BusyClock = SYSTEM): RetryWhileBusy {
  let heldSince = Number.NEGATIVE_INFINITY
  let refusedAt = Number.NEGATIVE_INFINITY

  function mayRetry(): boolean {
    const at = now()
    if (at - refusedAt > SAME_HOLD_MS) heldSince = at
    refusedAt = at
    return at - heldSince < BUSY_TIMEOUT_MS
  }

  const busy: Reason = {
    is: (error) => isBusyError(error) && mayRetry(),
    // Time is the bound: another process may hold the file through any number of attempts.
    most: Number.POSITIVE_INFINITY,
    between: async (count) => void (await pause(jitteredMs(count, PAUSE, 0.5 + Math.random() / 2))),
  }

  return async (work) => {
    const result = await attempt([busy], async () => work())
    refusedAt = Number.NEGATIVE_INFINITY
    return result
  }
}

/** Bytes of long rows that were written since the log was last moved into the file: often, because moving many megabytes at once holds the event loop. */
export interface LongWrites {
  /** Adds rows like this one. */
  note(row: Readonly<Record<string, Cell>>, count: number): void
  /** True if it is time to move them; counts from zero then. */
  areDue(): boolean
}

/**
 * A cell from this length on has pages of its own. They are written once, so rare moves would not combine their writes. A text counts its
 * characters: its bytes are not fewer.
 */
const LONG_CELL_BYTES = 4096
/** Bytes that are moved in a few milliseconds. */
const MAX_BYTES = 5 * 1024 * 1024

export function createLongWrites(): LongWrites {
  let bytes = 0
  return {
    note(row, count) {
      for (const column in row) {
        const cell = row[column]
        const length = cell instanceof Uint8Array || typeof cell === 'string' ? cell.length : 0
        if (length >= LONG_CELL_BYTES) bytes += length * count
      }
    },
    areDue() {
      if (bytes < MAX_BYTES) return false
      bytes = 0
      return true
    },
  }
}
