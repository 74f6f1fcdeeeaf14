/** Joins a transaction the application opened itself, on a client of the driver or through Kysely. */
import { CompiledQuery, type Transaction } from 'kysely'
import { VaultError } from '../../core/errors.ts'
import type { AnyTables } from '../sql/sql-dialect.ts'
import { type Connection, type DriverClient, driverConnection, type PreparedQuery, runSequentially } from './driver-connection.ts'
import { postgresCause, retryReason, sqlState } from './postgres-errors.ts'
import { createTransactionExecutor, type Executor } from './transaction-executor.ts'

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
