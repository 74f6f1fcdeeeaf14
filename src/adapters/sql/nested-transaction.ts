/** Nested transactions, for both SQL engines: each level is a savepoint in the level above, which calls may run when, and a `commit` as a transaction. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Changes, CommitOptions, Row, Storage } from '../../core/ports/storage.ts'
import { assertApplied, endedError, falseIfMissed, outerStorageError } from '../errors/storage-errors.ts'

/** What a level must know of the connection its transaction runs on. */
export interface LevelConnection {
  /** True if calls of one level may be on the way together; false where each must end before the next begins. */
  readonly isPipelined: boolean
  /** Throws where the engine has ended the whole transaction by itself. */
  assertOpen(): void
}

/** The statements of one savepoint. Each returns a promise only if the caller must wait for it. */
export interface Savepoint {
  open(): void | Promise<void>
  /** Keeps the changes. Throws where they cannot be kept. Runs after every call inside has ended. */
  release(): void | Promise<void>
  /** Undoes the changes. Must not throw: the error that caused it is thrown. Runs after every call inside has ended. */
  rollback(): void | Promise<void>
}

/** A transaction, or a savepoint in one. */
export interface Level {
  /** What identifies the storage handle the transaction belongs to. */
  readonly owner: object
  readonly connection: LevelConnection
  readonly parent: Level | undefined
  /** For a transaction, the level of another storage handle that it was begun in. */
  readonly around: Level | undefined
  /** 1 for the transaction itself, 2 for a savepoint in it, and so on. */
  readonly depth: number
  /** True if the event loop may turn before the transaction ends. */
  readonly takesTurns: boolean
  ended: boolean
  /** Ends when whatever has the level to itself now has ended. */
  turn: Promise<void> | undefined
  /** Pipelined calls that have not ended. */
  pending: Set<Promise<unknown>> | undefined
  /** The work of the savepoint that is open in this level now. */
  below: Revocable | undefined
}

/** The innermost level that the running code was called from: a call to an outer level would wait for itself. */
const currentLevel = new AsyncLocalStorage<Level>()

/** Returns the level of a transaction, or of a savepoint in `parent`. */
export function createLevel(owner: object, connection: LevelConnection, { parent, takesTurns = true }: NewLevel = {}): Level {
  const around = parent === undefined ? openLevel(currentLevel.getStore()) : undefined
  return {
    owner,
    connection,
    parent,
    around,
    takesTurns: parent?.takesTurns ?? takesTurns,
    depth: (parent?.depth ?? 0) + 1,
    ended: false,
    turn: undefined,
    pending: undefined,
    below: undefined,
  }
}

/** The level around a savepoint, or whether a transaction takes turns. */
interface NewLevel {
  readonly parent?: Level
  /** Default true. */
  readonly takesTurns?: boolean
}

/** True when the running code was called from inside a transaction of this owner that has not ended. */
export function isInsideTransaction(owner: object): boolean {
  return currentLevelOf(owner) !== undefined
}

/** False when the running code was called from inside a transaction of this owner that has not ended, and that takes no turns. */
export function mayTurn(owner: object): boolean {
  return currentLevelOf(owner)?.takesTurns !== false
}

/** Returns the innermost open level of this owner that the running code was called from. */
function currentLevelOf(owner: object): Level | undefined {
  let level = openLevel(currentLevel.getStore())
  while (level !== undefined && level.owner !== owner) level = openLevel(outwards(level))
  return level
}

function outwards({ parent, around }: Level): Level | undefined {
  return parent ?? around
}

/** The nearest level outwards that has not ended. One that has ended is not kept: the work after it could be a chain without end. */
function openLevel(from: Level | undefined): Level | undefined {
  let level = from
  while (level?.ended === true) level = outwards(level)
  return level
}

/** Runs work with the level as the innermost one. */
export function runInside<T>(level: Level, work: () => T): T {
  return currentLevel.run(level, work)
}

/**
 * Binds work, to be run once, to the caller's own asynchronous context, with the level as the innermost one. A function
 * that waits on a promise keeps its context, at a fifth of the cost of a snapshot of the context.
 */
export function inCallersContext<A, T>(level: Level, work: (argument: A) => Promise<T>): (argument: A) => Promise<T> {
  let begin: (argument: A) => void = ignore
  const begun = new Promise<A>((resolve) => {
    begin = resolve
  })
  const result = currentLevel.run(level, () => begun.then(work))
  return (argument) => {
    begin(argument)
    return result
  }
}

/**
 * Runs one call on the level. It runs at once, and may then return without a promise, unless it must wait for a savepoint
 * or for an earlier call. Throws `internal` once the level has ended, also while the call waited.
 */
export function runCall<T>(level: Level, call: () => T | Promise<T>): T | Promise<T> {
  assertReady(level)
  const result = level.turn === undefined ? call() : afterTurn(level, level.turn, call)
  if (!(result instanceof Promise)) return result
  if (level.connection.isPipelined) track(level, result)
  else occupy(level, result)
  return result
}

/**
 * Runs work in a savepoint, which keeps its changes where work succeeds and undoes them where it throws. Calls of this
 * level wait until the savepoint has ended: otherwise they could be rolled back with it. May throw instead of rejecting.
 */
export function runNested<T>(level: Level, savepoint: Savepoint, work: (child: Level) => Promise<T>): Promise<T> {
  assertReady(level)
  const nested = (): Promise<T> => runSavepoint(level, savepoint, work)
  const result = level.turn === undefined ? nested() : afterTurn(level, level.turn, nested)
  occupy(level, result)
  return result
}

/** Runs work and then ends the level: revokes a savepoint that was not awaited, and waits for all other calls. */
export async function runToEnd<T>(level: Level, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } finally {
    level.ended = true
    level.below?.revoke()
    while (level.turn !== undefined) await level.turn
    if (level.pending !== undefined) await Promise.allSettled(level.pending)
  }
}

async function runSavepoint<T>(parent: Level, savepoint: Savepoint, work: (child: Level) => Promise<T>): Promise<T> {
  const child = createLevel(parent.owner, parent.connection, { parent })
  const below = createRevocable()
  parent.below = below
  try {
    await savepoint.open()
    return await releaseOrRollback(savepoint, child, () => below.run(() => runInside(child, () => work(child))))
  } finally {
    parent.below = undefined
  }
}

async function releaseOrRollback<T>(savepoint: Savepoint, child: Level, work: () => Promise<T>): Promise<T> {
  try {
    const result = await runToEnd(child, work)
    child.connection.assertOpen()
    await savepoint.release()
    return result
  } catch (error) {
    await savepoint.rollback()
    throw error
  }
}

/** A level is open only while all levels around it are. */
function assertReady(level: Level): void {
  for (let at: Level | undefined = level; at !== undefined; at = at.parent) {
    if (at.ended) throw endedError()
  }
  level.connection.assertOpen()
}

/** Runs a task after the current turn, in the order of calling. */
function afterTurn<T>(level: Level, turn: Promise<void>, task: () => T | Promise<T>): Promise<T> {
  assertOutsideChild(level)
  return turn.then(() => {
    assertReady(level)
    return task()
  })
}

/** Code inside a savepoint that calls a level around it would wait for its own end. */
function assertOutsideChild(level: Level): void {
  const current = currentLevel.getStore()
  if (current === undefined || current.ended) return
  for (let at = current.parent; at !== undefined; at = at.parent) if (at === level) throw outerStorageError()
}

/** Gives the level to one task alone, until it ends. */
function occupy(level: Level, result: Promise<unknown>): void {
  const turn = result.then(ignore, ignore).then(() => {
    if (level.turn === turn) level.turn = undefined
  })
  level.turn = turn
}

function track(level: Level, result: Promise<unknown>): void {
  level.pending ??= new Set()
  const { pending } = level
  const ended = (): void => void pending.delete(result)
  pending.add(result)
  result.then(ended, ended)
}

function ignore(): void {}

/** Work of a nested transaction whose parent may end first: from then on nothing waits for it, whatever it still does. */
interface Revocable {
  /** Makes every `run`, begun or to come, reject with `internal`. Work that has finished keeps its result. */
  revoke(): void
  run<T>(work: () => Promise<T>): Promise<T>
}

function createRevocable(): Revocable {
  let revoke = (): void => {}
  const revoked = new Promise<never>((_, reject) => {
    revoke = () => reject(endedError())
  })
  // Without a listener the process would end where it was revoked and nothing ran.
  revoked.catch(() => {})
  return {
    revoke: () => revoke(),
    run: (work) => Promise.race([work(), revoked]),
  }
}

/** `Storage.commit` where changes do not fit into one statement or one writer. */
export async function commitInTransaction(
  storage: Pick<Storage, 'transaction'>,
  { updates, inserts }: Changes,
  { read }: CommitOptions = {},
): Promise<Row | boolean | undefined> {
  try {
    return await storage.transaction(async (inner) => {
      // First, because the transaction that has a lock can have inserted equal rows, for which this one would wait.
      for (const { table, patches } of updates) {
        for (const { id } of patches) assertApplied([await inner.lock({ kind: 'id', table, id })])
      }
      const row = read === undefined || (await lockedRow(inner, read))
      if (row === undefined) return undefined
      // In the order in which one statement locks the tables.
      for (const { table, rows } of inserts) await inner.insert(table, rows)
      for (const { table, patches } of updates) assertApplied(await inner.update(table, patches))
      return row
    })
  } catch (error) {
    return falseIfMissed(error)
  }
}

/** Returns a row that no other transaction changes before the end of this one. */
async function lockedRow(storage: Storage, { table, id }: NonNullable<CommitOptions['read']>): Promise<Row | undefined> {
  await storage.lock({ kind: 'rows', table, ids: [id] })
  const [row] = await storage.get(table, [id])
  return row
}
