/** The one line in front of the writing connection: whoever waits when it becomes free shares the next commit. */
import { setTimeout as pause } from 'node:timers/promises'
import { isVaultError } from '../../core/errors.ts'
import { unavailableError } from '../sql/sql-errors.ts'
import type { DriverLane } from './driver-lane.ts'
import { isBusyFault } from './engine-faults.ts'
import { type BlockChain, handUp, type IdBlocks } from './row-ids.ts'
import { command, KEEP_SAVEPOINT, OPEN_SAVEPOINT, UNDO_SAVEPOINT } from './table-work.ts'

/** Something that wants to write. */
export interface Writer<T> {
  /** True when a failure leaves nothing behind even without a savepoint around it. */
  readonly selfUndoing: boolean
  /** Called inside the shared transaction. Of the two members of `blocks` the group owns the first and this writer the second. */
  run(blocks: BlockChain): T | Promise<T>
}

export interface WriteQueue {
  /** Resolves after the commit; rejects with the writer's own error, undone alone, or with the commit's. */
  push<T>(writer: Writer<T>): Promise<T>
  /** Resolves when nothing waits and nothing runs. */
  idle(): Promise<void>
}

/** Writers one commit carries at most, and how long it may gather them. */
const MOST_IN_GROUP = 256
const GROUP_MILLISECONDS = 10
/** How long another process may hold the file before waiting writers are told. */
const PATIENCE_MILLISECONDS = 10_000
const LONGEST_PAUSE_MILLISECONDS = 16

const BEGIN = command('begin immediate')
const COMMIT = command('commit')
const ROLLBACK = command('rollback')

interface Waiting {
  readonly writer: Writer<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** Called after every commit, before anybody is told: throws where the commit is not as durable as promised. */
export type AfterCommit = () => void

export function createWriteQueue(lane: DriverLane, committed: IdBlocks, afterCommit: AfterCommit): WriteQueue {
  const waiting: Waiting[] = []
  let draining: Promise<void> | undefined

  async function drain(): Promise<void> {
    while (waiting.length > 0) {
      // One turn of the event loop, so that callers who act at the same time find themselves in the same group.
      await new Promise((resolve) => setImmediate(resolve))
      await runGroup(lane, waiting, { committed, afterCommit })
    }
    draining = undefined
  }

  return {
    push<T>(writer: Writer<T>): Promise<T> {
      return new Promise<T>((resolve, reject) => {
        // The queue gives each writer back exactly what its own run answered.
        waiting.push({ writer, resolve: resolve as (value: unknown) => void, reject })
        draining ??= drain()
      })
    },
    async idle() {
      while (draining !== undefined) await draining
    },
  }
}

interface Ending {
  readonly committed: IdBlocks
  readonly afterCommit: AfterCommit
}

/** A writer that ran and waits for the commit. */
interface Kept {
  readonly waiter: Waiting
  readonly value: unknown
}

async function runGroup(lane: DriverLane, waiting: Waiting[], ending: Ending): Promise<void> {
  try {
    await beginPatiently(lane)
  } catch (error) {
    for (const waiter of waiting.splice(0, MOST_IN_GROUP)) waiter.reject(error)
    return
  }
  const kept: Kept[] = []
  const blocks: IdBlocks = new Map()
  const lost = await gather(lane, waiting, { kept, blocks })
  if (lost !== undefined) {
    for (const { waiter } of kept) waiter.reject(lost)
    return
  }
  finish(lane, { kept, blocks }, ending)
}

interface Group {
  readonly kept: Kept[]
  readonly blocks: IdBlocks
}

/** Runs writers one after the other until none waits or the group is full. Answers why, if the engine undid them all. */
async function gather(lane: DriverLane, waiting: Waiting[], group: Group): Promise<unknown> {
  const until = performance.now() + GROUP_MILLISECONDS
  let ran = 0
  for (let waiter = waiting.shift(); waiter !== undefined; waiter = waiting.shift()) {
    const lost = await runWriter(lane, waiter, group)
    if (!lane.stands()) return lost ?? unavailableError('SQLite undid the transaction; nothing of it was kept.')
    if (++ran >= MOST_IN_GROUP || performance.now() >= until) break
  }
  return undefined
}

/** Runs one writer in a savepoint of its own, unless it needs none. Answers the error it was rejected with. */
async function runWriter(lane: DriverLane, waiter: Waiting, { kept, blocks }: Group): Promise<unknown> {
  const { writer } = waiter
  // The first to write needs no savepoint: undoing it is undoing everything.
  const inSavepoint = !writer.selfUndoing && kept.length > 0
  const own: IdBlocks = new Map()
  try {
    if (inSavepoint) lane.run(OPEN_SAVEPOINT)
    const value = await writer.run([blocks, own])
    if (!lane.stands()) throw unavailableError('SQLite undid the transaction; nothing of it was kept.')
    if (inSavepoint) lane.run(KEEP_SAVEPOINT)
    handUp(own, blocks)
    kept.push({ waiter, value })
    return undefined
  } catch (error) {
    const undone = lane.stands() ? undo(lane, writer, inSavepoint) : undefined
    waiter.reject(error)
    return undone ?? (isVaultError(error, 'unavailable') ? error : undefined)
  }
}

/** Undoes one failed writer; the transaction stands afterwards unless the engine failed. */
function undo(lane: DriverLane, writer: Writer<unknown>, inSavepoint: boolean): unknown {
  try {
    if (inSavepoint) lane.run(UNDO_SAVEPOINT)
    else if (!writer.selfUndoing) {
      lane.run(ROLLBACK)
      lane.run(BEGIN)
    }
    return undefined
  } catch (error) {
    rollBackQuietly(lane)
    return error
  }
}

/** Commits, then tells; when the commit fails, all of the group fail with its error. */
function finish(lane: DriverLane, { kept, blocks }: Group, { committed, afterCommit }: Ending): void {
  try {
    lane.run(kept.length === 0 ? ROLLBACK : COMMIT)
    afterCommit()
  } catch (error) {
    rollBackQuietly(lane)
    for (const { waiter } of kept) waiter.reject(error)
    return
  }
  handUp(blocks, committed)
  for (const { waiter, value } of kept) waiter.resolve(value)
}

function rollBackQuietly(lane: DriverLane): void {
  if (!lane.stands()) return
  try {
    lane.run(ROLLBACK)
  } catch {
    // SQLite had undone it already; the error being reported says why.
  }
}

/** Begins as soon as no other process writes, trying again without ever blocking the event loop. */
async function beginPatiently(lane: DriverLane): Promise<void> {
  await retryWhileBusy(() => lane.run(BEGIN))
}

/** Tries again with growing, jittered pauses while another connection holds the file. */
export async function retryWhileBusy<T>(attempt: () => T | Promise<T>): Promise<T> {
  const until = performance.now() + PATIENCE_MILLISECONDS
  for (let longest = 1; ; longest = Math.min(longest * 2, LONGEST_PAUSE_MILLISECONDS)) {
    try {
      return await attempt()
    } catch (error) {
      if (!isBusyFault(error) || performance.now() >= until) throw error
    }
    await pause(longest * (0.5 + Math.random() / 2))
  }
}
