/** Runs queries on a pool: single ones that commit by themselves, and transactions that are retried after a deadlock or serialization failure. */
import { isVaultError } from '../../core/errors.ts'
import { attempt, jitteredMs, type Reason } from '../../core/util/attempt.ts'
import { endedError, outcomeUnknownError, outerStorageError } from '../errors/storage-errors.ts'
import { isInsideTransaction, runInside, runToEnd } from '../sql/nested-transaction.ts'
import type { Connection, PreparedQuery, RawRow } from './driver-connection.ts'
import { type ClientSource, type HeldClient, takeClient } from './pool-clients.ts'
import {
  beginError,
  isConnectionLost,
  isRefusedByDefault,
  mapPostgresError,
  postgresCause,
  retryReason,
  sqlState,
} from './postgres-errors.ts'
import { createTransactionExecutor, type Executor, failedTransactionError, type Session } from './transaction-executor.ts'

/** Times work is tried in all before a deadlock or serialization failure is reported: where many change one row at SERIALIZABLE, one of them wins at a time. */
const MAX_ATTEMPTS = 32
/** The pause after the first attempt lasts up to 8 ms; the bound doubles after each one. */
const PAUSE = { firstMs: 8, maxMs: 256 }

/** The pool, and what its transactions share. */
interface SharedPool extends ClientSource {
  /** The statements that set the limits of a transaction, where its session has none of ours. */
  readonly limits: string | undefined
  /** What identifies the storage handle. */
  readonly owner: object
  /** Called when a transaction has committed, with the root of its executor. */
  onCommit(root: object): void
}

/** The text that begins a transaction. Defaults of the role or the database apply to neither its isolation nor its access. */
const BEGIN = 'begin isolation level read committed read write'

/** The text that begins a transaction that reads one state for as long as it likes, also while its reader pauses. */
const BEGIN_SNAPSHOT = `begin isolation level repeatable read read only;
  select pg_catalog.set_config('idle_in_transaction_session_timeout', '0', true)`

/** The executor of a pool. */
export interface PoolExecutor extends Executor {
  /** Runs work once, in a transaction that reads one state and writes nothing. */
  snapshot<T>(work: (executor: Executor) => Promise<T>): Promise<T>
  session<T>(work: (session: Session) => Promise<T>): Promise<T>
}

export function createPoolExecutor(context: SharedPool): PoolExecutor {
  return {
    snapshot: (work) => runTransaction(context, work, BEGIN_SNAPSHOT),
    inTransaction: false,
    isShared: false,
    run: (query) => retried(() => runAlone(context, query)),
    commitAlone: (query) => retried(() => runAlone(context, query, outcomeUnknown)),
    session: (work) => runSession(context, work),
    async transaction(work, options) {
      if (isInsideTransaction(context.owner)) throw outerStorageError()
      return options?.runsOnce === true ? runTransaction(context, work) : retried(() => runTransaction(context, work))
    },
  }
}

/** Retries work that lost against another transaction, and at once what met a connection without its prepared statements. */
function retried<T>(work: () => Promise<T>): Promise<T> {
  return attempt([LOST, FORGOTTEN], work)
}

const LOST: Reason = { is: (error) => retryReason(error) === 'contention', most: MAX_ATTEMPTS, between: pause }

/** Each attempt closes such a connection, and a pool can have many. */
const FORGOTTEN: Reason = { is: (error) => retryReason(error) === 'forgotten', most: 100 }

async function pause(count: number): Promise<void> {
  await new Promise((wake) => setTimeout(wake, jitteredMs(count, PAUSE, Math.random())))
}

function ignore(): void {}

/**
 * Runs one statement that commits by itself; in a transaction where the session's default refuses to write, or is stricter than ours and the
 * statement lost against another for that. `mapLoss` returns what to throw if the connection is lost before the statement is answered.
 */
async function runAlone(context: SharedPool, query: PreparedQuery, mapLoss = asIs): Promise<readonly RawRow[]> {
  const held = await takeClient(context)
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

async function runSession<T>(context: SharedPool, work: (session: Session) => Promise<T>): Promise<T> {
  if (isInsideTransaction(context.owner)) throw outerStorageError()
  const { connection, release } = await takeClient(context)
  try {
    return await work({ run: async (query) => (await connection.send(query)).rows })
  } finally {
    release(true)
  }
}

function asIs(error: unknown): unknown {
  return error
}

/** A statement that is answered has committed. One whose answer is lost may have. */
function outcomeUnknown(error: unknown): unknown {
  return outcomeUnknownError('The connection was lost', postgresCause(error))
}

async function runTransaction<T>(context: SharedPool, work: (executor: Executor) => Promise<T>, beginning = BEGIN): Promise<T> {
  const transaction = createPoolTransaction(context, beginning)
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

/** The start of a transaction. All who wait for one of these promises go on in the order in which they began to wait. */
interface Beginning {
  readonly held: Promise<HeldClient>
  /** The connection, as soon as BEGIN is sent. */
  readonly sent: Promise<Connection>
  /** The connection, when BEGIN has succeeded. */
  readonly begun: Promise<Connection>
}

/**
 * A transaction that takes its client with the first query, so that work may think before it holds a connection. Its
 * connection refuses all queries from COMMIT or ROLLBACK on: the client may serve another transaction by then.
 *
 * BEGIN can fail: it is cancelled, it takes longer than `statement_timeout`, or the server is a standby. Then there is no transaction, and each query would
 * commit by itself. So only queries that store nothing are sent with it. From the first other one on, all wait for its answer.
 */
function createPoolTransaction(context: SharedPool, beginning: string): PoolTransaction {
  let missingLimits = context.limits
  let started: Beginning | undefined
  let open: Connection | undefined
  let mustWait = false
  let ended = false
  let refusal: unknown

  function begin(first: PreparedQuery): Beginning {
    const ownLimits = takeLimits(first)
    const text = ownLimits === undefined ? beginning : `${beginning}; ${ownLimits}`
    const held = takeClient(context)
    const answers = held.then(({ connection }) => {
      const answer = connection.send({ text, parameters: [] }).catch((error: unknown) => {
        mustWait = true
        refusal = beginError(error)
        throw refusal
      })
      answer.catch(ignore)
      return { connection, answer }
    })
    const sent = answers.then(({ connection }) => connection)
    const begun = answers.then(({ connection, answer }) => answer.then(() => connection))
    sent.catch(ignore)
    // The first to wait: what is sent from now on comes after all that waits already.
    begun.then((connection) => {
      open = connection
    }, ignore)
    return { held, sent, begun }
  }

  /**
   * The statements that set the limits, once, with the first query that has limits. They read settings, which fixes the state that a transaction stricter
   * than READ COMMITTED reads. A lock of tables comes before, so that it reads what those have stored for whom the lock waits.
   */
  function takeLimits({ isUnlimited }: PreparedQuery): string | undefined {
    if (isUnlimited === true || missingLimits === undefined) return undefined
    const text = missingLimits
    missingLimits = undefined
    return text
  }

  /** Not an async function: all who wait must wait for the same promise, to keep their order. */
  function connectionFor(query: PreparedQuery): Promise<Connection> {
    started ??= begin(query)
    mustWait ||= !storesNothing(query)
    return mustWait ? started.begun : started.sent
  }

  function noteRefusal(error: unknown): void {
    refusal ??= error
  }

  return {
    connection: {
      async send(query) {
        if (ended) throw endedError()
        const connection = open ?? (await connectionFor(query))
        const lateLimits = takeLimits(query)
        if (lateLimits !== undefined) connection.send({ text: lateLimits, parameters: [] }).catch(noteRefusal)
        try {
          return await connection.send(query)
        } catch (error) {
          // Of a query that was sent with a text that failed after BEGIN, the server says only that something failed.
          throw sqlState(error) === '25P02' ? (refusal ?? error) : error
        }
      },
    },
    async commit() {
      ended = true
      if (started !== undefined) await commitTransaction(started)
    },
    async rollback() {
      ended = true
      if (started === undefined) return
      // Queries that wait for BEGIN go first.
      await started.begun.catch(ignore)
      const held = await started.held.catch(ignore)
      if (held !== undefined) await rollBack(held)
    },
  }
}

/** True for queries that leave nothing behind where there is no transaction: they read, lock, or take ids, which no rollback gives back either. */
function storesNothing({ text }: PreparedQuery): boolean {
  return STORE_NOTHING.some((word) => text.startsWith(word))
}

const STORE_NOTHING = ['select ', 'savepoint ', 'show ', 'set local ']

/** A lost connection is closed at once. The server rolls back when it notices, and a statement would only wait for an answer. */
async function rollBack(held: HeldClient): Promise<void> {
  if (held.isLost()) return held.release(true)
  await held.connection.send({ text: 'rollback', parameters: [] }).then(
    () => held.release(false),
    () => held.release(true),
  )
}

async function commitTransaction(beginning: Beginning): Promise<void> {
  const held = await beginning.held
  let isSent = false
  try {
    await beginning.begun
    isSent = !held.isLost()
    const { command } = await held.connection.send({ text: 'commit', parameters: [] })
    if (command !== 'COMMIT') throw failedTransactionError()
  } catch (error) {
    const isMapped = isVaultError(error)
    held.release(!isSent || !isMapped)
    if (!isSent || isMapped || !isConnectionLost(error)) throw mapPostgresError(error, {})
    throw outcomeUnknownError('The connection was lost', postgresCause(error))
  }
  held.release(false)
}
