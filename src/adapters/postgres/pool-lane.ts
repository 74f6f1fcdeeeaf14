/** The lane of a pool: single orders that commit by themselves, and transactions that are run again after a collision. */
import { isVaultError, VaultError } from '../../core/errors.ts'
import { endedError, unavailableError } from '../sql/sql-errors.ts'
import { afterFailure, createInnerLane, type Lane, swallowedError } from './lanes.ts'
import { type DriverPool, driverLine, type Line, type Order, type PooledClient, type RawRow } from './postgres-driver.ts'
import { bareCause, isCollision, isConnectionLost, toPostgresFault } from './postgres-faults.ts'

/** Times work is run in all before a collision is reported. */
const MOST_ATTEMPTS = 8
/** Longest pause before the second attempt, in milliseconds; doubled for each one after. */
const FIRST_PAUSE = 4

export function createPoolLane(pool: DriverPool): Lane {
  return {
    inside: false,
    run: (order) => repeated(() => runAlone(pool, order)),
    atomic: (work) => repeated(() => runTransaction(pool, work)),
  }
}

/** Runs work again while it loses against others, after a pause of random length so that they do not meet again. */
async function repeated<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === MOST_ATTEMPTS || !isCollision(error)) throw error
      await new Promise((wake) => setTimeout(wake, Math.random() * FIRST_PAUSE * 2 ** attempt))
    }
  }
}

/** A client taken from the pool. Without a listener a connection that breaks while we hold it would end the process. */
async function takeClient(pool: DriverPool): Promise<PooledClient> {
  try {
    const client = await pool.connect()
    client.on('error', ignore)
    return client
  } catch (error) {
    if (isVaultError(error)) throw error
    throw unavailableError('No connection to PostgreSQL could be had.', bareCause(error))
  }
}

function giveBack(client: PooledClient, broken: boolean): void {
  // a broken client keeps the listener: its socket may report once more
  if (!broken) client.removeListener('error', ignore)
  client.release(broken)
}

function ignore(): void {}

async function runAlone(pool: DriverPool, order: Order): Promise<readonly RawRow[]> {
  const client = await takeClient(pool)
  try {
    const { rows } = await driverLine(client).send(order)
    giveBack(client, false)
    return rows
  } catch (error) {
    giveBack(client, isConnectionLost(error))
    throw error
  }
}

async function runTransaction<T>(pool: DriverPool, work: (lane: Lane) => Promise<T>): Promise<T> {
  const transaction = createTransaction(pool)
  const inner = createInnerLane(transaction.line)
  let result: T
  try {
    result = await work(inner.lane)
  } catch (error) {
    await inner.end()
    await transaction.rollBack()
    throw afterFailure(inner, error)
  }
  await inner.end()
  try {
    await transaction.commit()
  } catch (error) {
    throw afterFailure(inner, error)
  }
  return result
}

interface Transaction {
  readonly line: Line
  commit(): Promise<void>
  rollBack(): Promise<void>
}

interface Begun {
  readonly client: PooledClient
  readonly line: Line
  readonly begin: Promise<unknown>
}

/**
 * A transaction that takes its client with the first order, so that work may think before it holds a connection. Its line
 * refuses all orders from COMMIT or ROLLBACK on: the client may serve somebody else by then.
 */
function createTransaction(pool: DriverPool): Transaction {
  let begun: Promise<Begun> | undefined
  let standing: Line | undefined
  let ended = false

  async function begin(): Promise<Begun> {
    const client = await takeClient(pool)
    const line = driverLine(client)
    // Not awaited: the first order follows on its heels, and COMMIT waits for its answer.
    const begin = line.send({ text: 'begin', parameters: [] })
    begin.catch(ignore)
    return { client, line, begin }
  }

  /** The line stands for new orders only when those that wait for it go first, so that all keep their order. */
  function beginOnce(): Promise<Begun> {
    if (begun !== undefined) return begun
    begun = begin()
    begun.then(({ line }) => {
      standing = line
    }, ignore)
    return begun
  }

  return {
    line: {
      async send(order) {
        if (ended) throw endedError()
        if (standing !== undefined) return standing.send(order)
        return (await beginOnce()).line.send(order)
      },
    },
    async commit() {
      ended = true
      if (begun === undefined) return
      const { client, line, begin } = await begun
      await endTransaction(client, async () => {
        await begin
        const { command } = await line.send({ text: 'commit', parameters: [] })
        if (command !== 'COMMIT') throw swallowedError()
      })
    },
    async rollBack() {
      ended = true
      const taken = await begun?.catch(ignore)
      if (taken === undefined) return
      const { client, line } = taken
      await line.send({ text: 'rollback', parameters: [] }).then(
        () => giveBack(client, false),
        () => giveBack(client, true),
      )
    },
  }
}

async function endTransaction(client: PooledClient, commit: () => Promise<void>): Promise<void> {
  try {
    await commit()
  } catch (error) {
    const answered = isVaultError(error)
    giveBack(client, !answered)
    if (answered || !isConnectionLost(error)) throw toPostgresFault(error, {})
    throw new VaultError(
      'outcome_unknown',
      'The connection was lost while the transaction was being committed: whether it was stored is unknown. Look before you try again.',
      {},
      { cause: bareCause(error) },
    )
  }
  giveBack(client, false)
}
