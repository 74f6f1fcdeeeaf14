/** Runs queries inside a transaction: on the transaction itself, and on the savepoints nested in it. */
import { VaultError } from '../../core/errors.ts'
import type { TransactionOptions } from '../../core/ports/storage.ts'
import { createLevel, type Level, type LevelConnection, runCall, runNested, type Savepoint } from '../sql/nested-transaction.ts'
import type { Connection, PreparedQuery, RawRow } from './driver-connection.ts'
import { markRetryable, retryReason } from './postgres-errors.ts'

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
  /** Runs all or nothing: a transaction on the pool, a savepoint inside one. Rethrows what work throws. */
  transaction<T>(work: (executor: Executor) => Promise<T>, options?: TransactionOptions): Promise<T>
}

/** One level of a transaction on one connection. */
export interface TransactionExecutor extends Executor {
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
