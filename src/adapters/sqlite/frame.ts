/** The storage that lives inside one transaction: it ends with it, and its nested transactions are savepoints. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { VaultError } from '../../core/errors.ts'
import type { Storage } from '../../core/ports/storage.ts'
import { createRevocable, type Revocable } from '../sql/revocable.ts'
import { endedError, unavailableError } from '../sql/sql-errors.ts'
import { type Engine, portOver } from './port-over.ts'
import { BLOCK_SIZE, type BlockChain, handUp, type IdBlocks } from './row-ids.ts'
import { KEEP_SAVEPOINT, type Lane, OPEN_SAVEPOINT, type TableWork, UNDO_SAVEPOINT } from './table-work.ts'

/** One transaction or savepoint: what it stands in, the ids it took, and whose turn it is on its lane. */
export interface Frame {
  readonly engine: Engine
  readonly parent: Frame | undefined
  readonly blocks: IdBlocks
  /** Blocks of the group of writers a root frame runs in. */
  groupBlocks: BlockChain
  /** Ids to take from the counter at once: a whole block where we commit, the bare need where the application does. */
  readonly blockSize: number
  /** Ends when whatever runs on this frame now has ended. */
  turn: Promise<void> | undefined
  /** The nested transaction that runs on this frame now. */
  below: Revocable | undefined
  ended: boolean
}

/** The innermost frame the running code was called from: how a call that would wait for itself is told from one that may wait. */
const currentFrame = new AsyncLocalStorage<Frame>()

export function createFrame(engine: Engine, parent: Frame | undefined, blockSize = parent?.blockSize ?? BLOCK_SIZE): Frame {
  return { engine, parent, blocks: new Map(), groupBlocks: [], blockSize, turn: undefined, below: undefined, ended: false }
}

/** True when the running code was called from inside a transaction of this engine that has not ended. */
export function isInsideTransaction(engine: Engine): boolean {
  for (let frame = currentFrame.getStore(); frame !== undefined; frame = frame.parent) {
    if (frame.engine === engine && !frame.ended) return true
  }
  return false
}

/**
 * Binds work, to be run once, to the caller's own asynchronous context, with the frame as the innermost one. What waits
 * on a promise keeps its context, at a fifth of what a snapshot of the context costs.
 */
export function inCallersContext<T>(frame: Frame, work: (storage: Storage) => Promise<T>): (storage: Storage) => Promise<T> {
  let begin: (storage: Storage) => void = ignore
  const begun = new Promise<Storage>((resolve) => {
    begin = resolve
  })
  const result = currentFrame.run(frame, () => begun.then(work))
  return (storage) => {
    begin(storage)
    return result
  }
}

/** Runs work on the frame's storage, gives up a nested transaction it forgot to await, and waits for all other calls. */
export async function runInFrame<T>(frame: Frame, lane: Lane, work: (storage: Storage) => Promise<T>): Promise<T> {
  try {
    return await work(storageInFrame(frame, lane))
  } finally {
    frame.ended = true
    frame.below?.revoke()
    while (frame.turn !== undefined) await frame.turn
  }
}

/** The port inside a frame. */
export function storageInFrame(frame: Frame, lane: Lane): Storage {
  const { engine } = frame
  const run = <T>(work: TableWork<T>): T | Promise<T> => inTurn(frame, lane, () => lane.run(work))
  return portOver(engine, {
    read: run,
    write: run,
    reserveIds(shape, count) {
      return run({ shape, begin: () => engine.ids.reserve(shape, { count, blockSize: frame.blockSize }, chainOf(frame)) })
    },
    transaction(work) {
      const child = createFrame(engine, frame)
      const bound = inCallersContext(child, work)
      return inTurn(frame, lane, () => runInSavepoint({ child, parent: frame }, lane, bound))
    },
  })
}

/** A nested transaction and what it stands in. */
interface Nesting {
  readonly child: Frame
  readonly parent: Frame
}

async function runInSavepoint<T>({ child, parent }: Nesting, lane: Lane, work: (storage: Storage) => Promise<T>): Promise<T> {
  assertOpen(child)
  const below = createRevocable()
  parent.below = below
  try {
    await lane.run(OPEN_SAVEPOINT)
    return await keepOrUndo({ child, parent }, lane, (storage) => below.run(() => work(storage)))
  } finally {
    parent.below = undefined
  }
}

async function keepOrUndo<T>({ child, parent }: Nesting, lane: Lane, work: (storage: Storage) => Promise<T>): Promise<T> {
  try {
    const result = await runInFrame(child, lane, work)
    assertStands(lane)
    await lane.run(KEEP_SAVEPOINT)
    handUp(child.blocks, parent.blocks)
    return result
  } catch (error) {
    if (lane.stands()) await undoQuietly(lane)
    throw error
  }
}

async function undoQuietly(lane: Lane): Promise<void> {
  try {
    await lane.run(UNDO_SAVEPOINT)
  } catch {
    // The engine undid the whole transaction by itself; the error being rethrown says why.
  }
}

/** Block chain from the process down to this frame. */
function chainOf(frame: Frame): BlockChain {
  const chain: IdBlocks[] = []
  for (let at: Frame | undefined = frame; at !== undefined; at = at.parent) chain.unshift(...at.groupBlocks, at.blocks)
  return [frame.engine.ids.committed, ...chain]
}

/** Runs a task when nothing else runs on the frame, in the order of calling: savepoints must not interleave. */
function inTurn<T>(frame: Frame, lane: Lane, task: () => T | Promise<T>): T | Promise<T> {
  assertOpen(frame)
  assertStands(lane)
  const before = frame.turn
  if (before !== undefined) assertOutsideChild(frame)
  const result = before === undefined ? task() : before.then(task)
  if (!(result instanceof Promise)) return result
  const turn = result.then(ignore, ignore).then(() => {
    if (frame.turn === turn) frame.turn = undefined
  })
  frame.turn = turn
  return result
}

function ignore(): void {}

/** A frame is open only while all around it are. */
function assertOpen(frame: Frame): void {
  for (let at: Frame | undefined = frame; at !== undefined; at = at.parent) {
    if (at.ended) throw endedError()
  }
}

/** Code inside a nested transaction that calls the outer storage would wait for its own end. */
function assertOutsideChild(frame: Frame): void {
  for (let at = currentFrame.getStore()?.parent; at !== undefined; at = at.parent) {
    if (at === frame && currentFrame.getStore()?.ended === false) {
      throw new VaultError('internal', 'Inside a nested transaction use the storage it was given, not the one around it.')
    }
  }
}

function assertStands(lane: Lane): void {
  if (!lane.stands()) throw unavailableError('SQLite has ended this transaction; nothing of it was kept.')
}
