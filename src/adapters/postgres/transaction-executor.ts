/** Runs queries inside a transaction: on the transaction itself, and on the savepoints nested in it. Also of one the application opened itself, on a client of the driver or through Kysely. */
import { CompiledQuery, type Transaction } from 'kysely'
import { VaultError } from '../../core/errors.ts'
import type { TransactionOptions } from '../../core/ports/storage.ts'
import { createLevel, type Level, type LevelConnection, runCall, runNested, type Savepoint } from '../sql/nested-transaction.ts'
import type { AnyTables } from '../sql/sql-dialect.ts'
import {
  type Connection,
  type DriverClient,
  driverConnection,
  type PreparedQuery,
  type RawRow,
  runSequentially,
} from './driver-connection.ts'
import { markRetryable, postgresCause, retryReason, sqlState } from './postgres-errors.ts'

export interface Executor {
  /** True inside a transaction, where waiting for others who hold connections could never end. */
  readonly inTransaction: boolean
  /** What identifies the transaction, the same in all its savepoints. Absent outside. */
  readonly root?: object
  /** True in a transaction of the application, which can have an isolation level that reads an earlier state. */
  readonly isShared: boolean
  /** Runs one query. Rejects with whatever the driver threw. */
  run(query: PreparedQuery): Promise<readonly RawRow[]>
  /** Runs one statement that stores changes and commits by itself. Throws `outcome_unknown` if the connection is lost meanwhile. Absent in a transaction. */
  readonly commitAlone?: (query: PreparedQuery) => Promise<readonly RawRow[]>
  /** Runs statements that no transaction can hold, on a connection that is closed after them: what they set is left to no other call. Absent in a transaction. */
  readonly session?: <T>(work: (session: Session) => Promise<T>) => Promise<T>
  /** Runs all or nothing: a transaction on the pool, a savepoint inside one. Rethrows what work throws. */
  transaction<T>(work: (executor: Executor) => Promise<T>, options?: TransactionOptions): Promise<T>
}

/** One connection outside transactions. */
export type Session = Pick<Executor, 'run'>

/** One level of a transaction on one connection. */
interface TransactionExecutor extends Executor {
  readonly level: Level
  /** The error to rethrow after work on this level failed: marked as retryable if a query here lost to another transaction. */
  toError(error: unknown): unknown
  /** Throws `internal` if a query of this level failed: PostgreSQL then undoes everything on it, even if the caller caught the error. */
  assertNoFailure(): void
}

/** Queries are pipelined, and only the server knows whether the transaction is still open. */
const PIPELINED: LevelConnection = { isPipelined: true, assertOpen() {} }

/** The executor of a whole transaction on a connection. `owner` identifies the storage handle that began it; a host's has none. */
export function createTransactionExecutor(connection: Connection, owner: object = connection): TransactionExecutor {
  const level = createLevel(owner, PIPELINED)
  return createExecutor(connection, level, level)
}

function createExecutor(connection: Connection, root: Level, level: Level): TransactionExecutor {
  let failure: unknown

  async function send(query: PreparedQuery): Promise<readonly RawRow[]> {
    try {
      return (await connection.send(query)).rows
    } catch (error) {
      failure ??= error
      throw error
    }
  }

  return {
    inTransaction: true,
    root,
    isShared: connection.isShared === true,
    level,
    run: async (query) => runCall(level, () => send(query)),
    async transaction(work) {
      let inner: TransactionExecutor | undefined
      const savepoint = createSavepoint(connection, `sr_${level.depth}`, () => inner?.assertNoFailure())
      try {
        return await runNested(level, savepoint, (child) => {
          inner = createExecutor(connection, root, child)
          return work(inner)
        })
      } catch (error) {
        throw inner === undefined ? error : inner.toError(error)
      }
    },
    toError(error) {
      const reason = retryReason(failure)
      if (reason !== undefined) markRetryable(error, reason)
      return error
    },
    assertNoFailure() {
      if (failure !== undefined) throw failedTransactionError()
    },
  }
}

/**
 * Savepoint statements are pipelined, not awaited, except at the end of a savepoint on a connection shared with the
 * application. They run in order; if one fails, all later ones fail.
 */
function createSavepoint(connection: Connection, name: string, assertNoFailure: () => void): Savepoint {
  const post = (text: string): Promise<unknown> => connection.send({ text, parameters: [] }).catch(() => {})
  const close = async (...texts: readonly string[]): Promise<void> => {
    const posted = Promise.all(texts.map(post))
    // The application's next query must not overtake them: it would be rolled back with them.
    if (connection.isShared === true) await posted
  }
  return {
    open: () => void post(`savepoint ${name}`),
    release() {
      assertNoFailure()
      return close(`release savepoint ${name}`)
    },
    rollback: () => close(`rollback to savepoint ${name}`, `release savepoint ${name}`),
  }
}

/** `internal`: PostgreSQL undoes a transaction in which a statement failed, even if the caller caught its error. */
export function failedTransactionError(): VaultError {
  return new VaultError(
    'internal',
    'A statement in this transaction failed, so it was rolled back. Rethrow its error, or catch it outside a nested transaction.',
  )
}

/** The executor of a host transaction. Throws `invalid_request` for anything that is not an open transaction of a supported kind. */
export function createHostExecutor(host: unknown): Executor {
  if (isKyselyTransaction(host)) return createTransactionExecutor(kyselyConnection(host))
  if (isClient(host)) {
    // Null until the client is connected: its queries would wait for a connection that may never come.
    if (host.getTransactionStatus?.() === null) throw noTransactionError()
    return createTransactionExecutor(clientConnection(host))
  }
  throw new VaultError(
    'invalid_request',
    'The PostgreSQL storage joins a pg client on which BEGIN was run, or a Kysely Transaction. A pool or a client of another library has no transaction it can join.',
  )
}

function isKyselyTransaction(host: unknown): host is Transaction<AnyTables> {
  return isObject(host) && host.isTransaction === true && typeof host.executeQuery === 'function'
}

/**
 * Recognized by shape: the application can have its own copy of the driver. Pools and the connections and managers of other libraries
 * can query too, but each query may run on another connection, or be something else than a query.
 */
function isClient(host: unknown): host is DriverClient & { getTransactionStatus?(): string | null } {
  return isObject(host) && CLIENT_METHODS.every((name) => typeof host[name] === 'function') && !('totalCount' in host)
}

/** Methods of every client of `pg`, which together no other library has. */
const CLIENT_METHODS = ['query', 'on', 'escapeIdentifier', 'escapeLiteral']

function isObject(host: unknown): host is Readonly<Record<string, unknown>> {
  return typeof host === 'object' && host !== null
}

/** Bypasses plugins, which rename and rewrite: these statements and rows are not the application's. */
function kyselyConnection(transaction: Transaction<AnyTables>): Connection {
  const plain = transaction.withoutPlugins()
  return {
    isShared: true,
    send: runSequentially(async ({ text, parameters }: PreparedQuery) => {
      const { rows } = await plain.executeQuery(CompiledQuery.raw(text, [...parameters]))
      // Kysely returns plain objects whose keys are in the order of the statement.
      return { command: '', rows: rows.map((row) => Object.values(row as object)) }
    }),
  }
}

function clientConnection(client: DriverClient & { getTransactionStatus?(): string | null }): Connection {
  const connection = driverConnection(client)
  let checked: Promise<void> | undefined
  let ended = false
  return {
    isShared: true,
    async send(query) {
      checked ??= assertOpen(connection)
      await checked
      // 'I' is idle: the host has ended its transaction, and this query would commit by itself.
      ended ||= client.getTransactionStatus?.() === 'I'
      // For good: a transaction begun later on the same client is not the one that was joined.
      if (ended) throw noTransactionError()
      return connection.send(query).catch((error: unknown) => {
        throw retryReason(error) === 'forgotten' ? forgottenError(postgresCause(error)) : error
      })
    },
  }
}

/** A savepoint is refused outside a transaction, which makes it the cheapest reliable check. */
async function assertOpen(connection: Connection): Promise<void> {
  try {
    await connection.send({ text: 'savepoint sr_join', parameters: [] })
    await connection.send({ text: 'release savepoint sr_join', parameters: [] })
  } catch (error) {
    throw sqlState(error) === '25P01' ? noTransactionError() : error
  }
}

function noTransactionError(): VaultError {
  return new VaultError('invalid_request', 'The client given to joinTransaction has no open transaction. Run BEGIN on it first.')
}

/** `aborted`: only the host can run its transaction again. From now on nothing is prepared on this client. */
function forgottenError(cause: Error): VaultError {
  const message =
    'PostgreSQL has dropped the statements that were prepared on this client, as DISCARD ALL does. Roll back, and run the transaction again.'
  return new VaultError('aborted', message, {}, { cause })
}
