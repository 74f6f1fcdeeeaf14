/** The lane of a transaction the application opened itself, on a client of the driver or through Kysely. */
import { CompiledQuery, type Transaction } from 'kysely'
import { VaultError } from '../../core/errors.ts'
import type { AnyTables } from '../sql/sql-manners.ts'
import { createInnerLane, type Lane } from './lanes.ts'
import { type DriverClient, driverLine, type Line, type Order, oneByOne } from './postgres-driver.ts'
import { sqlState } from './postgres-faults.ts'

/** Throws `invalid_request` for anything that is no open transaction of a kind known here. */
export function createHostLane(host: unknown): Lane {
  if (isKyselyTransaction(host)) return createInnerLane(kyselyLine(host)).lane
  if (isClient(host)) return createInnerLane(clientLine(host)).lane
  throw new VaultError(
    'invalid_request',
    'joinTransaction expects a pg client on which BEGIN was run, or a Kysely transaction; a pool or a plain Kysely has no open transaction.',
  )
}

function isKyselyTransaction(host: unknown): host is Transaction<AnyTables> {
  return isObject(host) && host.isTransaction === true && typeof host.executeQuery === 'function'
}

/** A pool can query too, but each query may run on another connection. */
function isClient(host: unknown): host is DriverClient & { getTransactionStatus?(): string | null } {
  return isObject(host) && typeof host.query === 'function' && !('totalCount' in host)
}

function isObject(host: unknown): host is Readonly<Record<string, unknown>> {
  return typeof host === 'object' && host !== null
}

/** Plugins rename and rewrite what passes; these statements and rows are ours, not the application's. */
function kyselyLine(transaction: Transaction<AnyTables>): Line {
  const plain = transaction.withoutPlugins()
  return {
    isShared: true,
    send: oneByOne(async ({ text, parameters }: Order) => {
      const { rows } = await plain.executeQuery(CompiledQuery.raw(text, [...parameters]))
      // Kysely answers plain objects whose keys stand in the order of the statement.
      return { command: '', rows: rows.map((row) => Object.values(row as object)) }
    }),
  }
}

function clientLine(client: DriverClient & { getTransactionStatus?(): string | null }): Line {
  const line = driverLine(client)
  let checked: Promise<void> | undefined
  let ended = false
  return {
    isShared: true,
    async send(order) {
      checked ??= assertOpen(line)
      await checked
      // 'I' is idle: the host has ended its transaction, and this order would commit by itself.
      ended ||= client.getTransactionStatus?.() === 'I'
      // For good: a transaction begun later on the same client is not the one that was joined.
      if (ended) throw noTransaction()
      return line.send(order)
    },
  }
}

/** A savepoint is refused outside a transaction: the cheapest sure question. */
async function assertOpen(line: Line): Promise<void> {
  try {
    await line.send({ text: 'savepoint sr_join', parameters: [] })
    await line.send({ text: 'release savepoint sr_join', parameters: [] })
  } catch (error) {
    throw sqlState(error) === '25P01' ? noTransaction() : error
  }
}

function noTransaction(): VaultError {
  return new VaultError('invalid_request', 'The client given to joinTransaction has no open transaction: run BEGIN on it first.')
}
