/** Runs queries on a pool: single ones that commit by themselves, and transactions that are retried after a deadlock or serialization failure. */
import { isVaultError } from '../../core/errors.ts'
import { jitteredMs, retry } from '../../core/util/retry.ts'
import { endedError, outcomeUnknownError, outerStorageError } from '../errors/storage-errors.ts'
import { isInsideTransaction, runInside, runToEnd } from '../sql/nested-transaction.ts'
import type { Connection, DriverPool, PreparedQuery, RawRow } from './driver-connection.ts'
import { type HeldClient, takeClient } from './pool-clients.ts'
import {
  bareCause,
  beginError,
  isConnectionLost,
  isRefusedByDefault,
  isRetryable,
  mapPostgresError,
  sqlState,
} from './postgres-errors.ts'
import type { Timeouts } from './timeouts.ts'
import { createTransactionExecutor, type Executor, failedTransactionError } from './transaction-executor.ts'

/** Times work is tried in all before a deadlock or serialization failure is reported. */
const MAX_ATTEMPTS = 8
/** The pause after the first attempt lasts up to 8 ms; the bound doubles after each one. */
const PAUSE = { firstMs: 8, maxMs: 1024 }

/** The pool, and what its transactions share. */
export interface PoolContext {
  readonly pool: DriverPool
  readonly timeouts: Timeouts
  /** The text that begins a transaction. */
  readonly begin: string
  /** What identifies the storage handle. */
  readonly owner: object
  /** Called when a transaction has committed, with the root of its executor. */
  onCommit(root: object): void
}

/**
 * The text that begins a transaction. The default isolation of the role or the database does not apply to it. It cannot fail: the first queries are sent
 * with it, and without a transaction each would commit by itself. So what a standby refuses, to be READ WRITE, comes after it, or is a setting of the session.
 */
export const BEGIN = 'begin isolation level read committed'

export function createPoolExecutor(context: PoolContext): Executor {
  return {
    inTransaction: false,
    isShared: false,
    run: (query) => retried(() => runAlone(context, query)),
    commitAlone: (query) => retried(() => runAlone(context, query, outcomeUnknown)),
    async transaction(work) {
      if (isInsideTransaction(context.owner)) throw outerStorageError()
      return retried(() => runTransaction(context, work))
    },
  }
}

/** Retries work that lost against another transaction. */
function retried<T>(work: () => Promise<T>): Promise<T> {
  return retry({ maxAttempts: MAX_ATTEMPTS, shouldRetry: isRetryable, between: pause }, work)
}

async function pause(attempt: number): Promise<void> {
  await new Promise((wake) => setTimeout(wake, jitteredMs(attempt, PAUSE, Math.random())))
}

function ignore(): void {}

/**
 * Runs one statement that commits by itself; in a transaction where the session's default refuses to write, or is stricter than ours and the
 * statement lost against another for that. `mapLoss` returns what to throw if the connection is lost before the statement is answered.
 */
async function runAlone(context: PoolContext, query: PreparedQuery, mapLoss = asIs): Promise<readonly RawRow[]> {
  const held = await takeClient(context.pool, context.timeouts)
  try {
    const { rows } = await held.connection.send(query)
    held.release(false)
    return rows
  } catch (error) {
    held.release(held.isLost())
    if (isConnectionLost(error)) throw mapLoss(error)
    if (!isRefusedByDefault(error)) throw error
  }
  return runTransaction(context, (executor) => executor.run(query))
}

function asIs(error: unknown): unknown {
  return error
}

/** A statement that is answered has committed. One whose answer is lost may have. */
function outcomeUnknown(error: unknown): unknown {
  return outcomeUnknownError('The connection was lost', bareCause(error))
}

async function runTransaction<T>(context: PoolContext, work: (executor: Executor) => Promise<T>): Promise<T> {
  const transaction = createPoolTransaction(context)
  const executor = createTransactionExecutor(transaction.connection, context.owner)
  let result: T
  try {
    result = await runToEnd(executor.level, () => runInside(executor.level, () => work(executor)))
  } catch (error) {
    await transaction.rollback()
    throw executor.toError(error)
  }
  try {
    await transaction.commit()
  } catch (error) {
    throw executor.toError(error)
  }
  context.onCommit(executor.level)
  return result
}

interface PoolTransaction {
  readonly connection: Connection
  commit(): Promise<void>
  rollback(): Promise<void>
}

interface Begun {
  readonly held: HeldClient
  readonly begin: Promise<unknown>
}

/**
 * A transaction that takes its client with the first query, so that work may think before it holds a connection. Its
 * connection refuses all queries from COMMIT or ROLLBACK on: the client may serve another transaction by then.
 */
function createPoolTransaction({ pool, timeouts, begin: text }: PoolContext): PoolTransaction {
  let begun: Promise<Begun> | undefined
  let open: Connection | undefined
  let ended = false
  let refusal: unknown

  async function begin(): Promise<Begun> {
    const held = await takeClient(pool, timeouts)
    // Not awaited: the first query is sent right after it, and COMMIT waits for its result.
    const begin = held.connection.send({ text, parameters: [] }).catch((error: unknown) => {
      refusal = beginError(error)
      throw refusal
    })
    begin.catch(ignore)
    return { held, begin }
  }

  /** The connection is set only after the queries that wait for it have gone first, so that all keep their order. */
  function beginOnce(): Promise<Begun> {
    if (begun !== undefined) return begun
    begun = begin()
    begun.then(({ held }) => {
      open = held.connection
    }, ignore)
    return begun
  }

  return {
    connection: {
      async send(query) {
        if (ended) throw endedError()
        const connection = open ?? (await beginOnce()).held.connection
        try {
          return await connection.send(query)
        } catch (error) {
          // The server answers what comes after a refusal of a standby with a code that says only that something failed.
          const state = sqlState(error)
          if (state === '25006') refusal ??= error
          throw state === '25P02' ? (refusal ?? error) : error
        }
      },
    },
    async commit() {
      ended = true
      if (begun === undefined) return
      await commitTransaction(await begun)
    },
    async rollback() {
      ended = true
      const taken = await begun?.catch(ignore)
      if (taken !== undefined) await rollBack(taken)
    },
  }
}

/** A lost connection is closed at once. The server rolls back when it notices, and a statement would only wait for an answer. */
async function rollBack({ held }: Begun): Promise<void> {
  if (held.isLost()) return held.release(true)
  await held.connection.send({ text: 'rollback', parameters: [] }).then(
    () => held.release(false),
    () => held.release(true),
  )
}

async function commitTransaction({ held, begin }: Begun): Promise<void> {
  let isSent = false
  try {
    await begin
    isSent = !held.isLost()
    const { command } = await held.connection.send({ text: 'commit', parameters: [] })
    if (command !== 'COMMIT') throw failedTransactionError()
  } catch (error) {
    const isMapped = isVaultError(error)
    held.release(!isSent || !isMapped)
    if (!isSent || isMapped || !isConnectionLost(error)) throw mapPostgresError(error, {})
    throw outcomeUnknownError('The connection was lost', bareCause(error))
  }
  held.release(false)
}
