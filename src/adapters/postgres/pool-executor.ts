/** Runs queries on a pool: single ones that commit by themselves, and transactions that are retried after a deadlock or serialization failure. */
import { isVaultError } from '../../core/errors.ts'
import { jitteredMs, retry } from '../../core/util/retry.ts'
import { endedError, outcomeUnknownError, unavailableError } from '../errors/storage-errors.ts'
import { runInside, runToEnd } from '../sql/nested-transaction.ts'
import {
  type Connection,
  type DriverPool,
  driverConnection,
  type PooledClient,
  type PreparedQuery,
  type RawRow,
} from './driver-connection.ts'
import { bareCause, isConnectionLost, isRetryable, mapPostgresError } from './postgres-errors.ts'
import { createTransactionExecutor, type Executor, failedTransactionError } from './transaction-executor.ts'

/** Times work is tried in all before a deadlock or serialization failure is reported. */
const MAX_ATTEMPTS = 8
/** The pause after the first attempt lasts up to 8 ms; the bound doubles after each one. */
const PAUSE = { firstMs: 8, maxMs: 1024 }

export function createPoolExecutor(pool: DriverPool): Executor {
  return {
    inTransaction: false,
    run: (query) => retried(() => runAlone(pool, query)),
    transaction: (work) => retried(() => runTransaction(pool, work)),
  }
}

/** Retries work that lost against another transaction. */
function retried<T>(work: () => Promise<T>): Promise<T> {
  return retry({ maxAttempts: MAX_ATTEMPTS, shouldRetry: isRetryable, between: pause }, work)
}

async function pause(attempt: number): Promise<void> {
  await new Promise((wake) => setTimeout(wake, jitteredMs(attempt, PAUSE, Math.random())))
}

/** A client taken from the pool. Without a listener a connection that breaks while it is held would end the process. */
async function takeClient(pool: DriverPool): Promise<PooledClient> {
  try {
    const client = await pool.connect()
    client.on('error', ignore)
    return client
  } catch (error) {
    if (isVaultError(error)) throw error
    throw unavailableError('Could not connect to PostgreSQL. Check that it is reachable, then retry.', bareCause(error))
  }
}

function giveBack(client: PooledClient, broken: boolean): void {
  // A broken client keeps the listener: its socket may report once more.
  if (!broken) client.removeListener('error', ignore)
  client.release(broken)
}

function ignore(): void {}

async function runAlone(pool: DriverPool, query: PreparedQuery): Promise<readonly RawRow[]> {
  const client = await takeClient(pool)
  try {
    const { rows } = await driverConnection(client).send(query)
    giveBack(client, false)
    return rows
  } catch (error) {
    giveBack(client, isConnectionLost(error))
    throw error
  }
}

async function runTransaction<T>(pool: DriverPool, work: (executor: Executor) => Promise<T>): Promise<T> {
  const transaction = createPoolTransaction(pool)
  const executor = createTransactionExecutor(transaction.connection)
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
  return result
}

interface PoolTransaction {
  readonly connection: Connection
  commit(): Promise<void>
  rollback(): Promise<void>
}

interface Begun {
  readonly client: PooledClient
  readonly connection: Connection
  readonly begin: Promise<unknown>
}

/**
 * A transaction that takes its client with the first query, so that work may think before it holds a connection. Its
 * connection refuses all queries from COMMIT or ROLLBACK on: the client may serve another transaction by then.
 */
function createPoolTransaction(pool: DriverPool): PoolTransaction {
  let begun: Promise<Begun> | undefined
  let open: Connection | undefined
  let ended = false

  async function begin(): Promise<Begun> {
    const client = await takeClient(pool)
    const connection = driverConnection(client)
    // Not awaited: the first query is sent right after it, and COMMIT waits for its result.
    const begin = connection.send({ text: 'begin', parameters: [] })
    begin.catch(ignore)
    return { client, connection, begin }
  }

  /** The connection is set only after the queries that wait for it have gone first, so that all keep their order. */
  function beginOnce(): Promise<Begun> {
    if (begun !== undefined) return begun
    begun = begin()
    begun.then(({ connection }) => {
      open = connection
    }, ignore)
    return begun
  }

  return {
    connection: {
      async send(query) {
        if (ended) throw endedError()
        if (open !== undefined) return open.send(query)
        return (await beginOnce()).connection.send(query)
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
      if (taken === undefined) return
      const { client, connection } = taken
      await connection.send({ text: 'rollback', parameters: [] }).then(
        () => giveBack(client, false),
        () => giveBack(client, true),
      )
    },
  }
}

async function commitTransaction({ client, connection, begin }: Begun): Promise<void> {
  try {
    await begin
    const { command } = await connection.send({ text: 'commit', parameters: [] })
    if (command !== 'COMMIT') throw failedTransactionError()
  } catch (error) {
    const isMapped = isVaultError(error)
    giveBack(client, !isMapped)
    if (isMapped || !isConnectionLost(error)) throw mapPostgresError(error, {})
    throw outcomeUnknownError('The connection was lost', bareCause(error))
  }
  giveBack(client, false)
}
