/** Runs queries on a `pg` client, which is described by shape so that a pool from any copy or version of the driver fits. */
import { retryReason } from './postgres-errors.ts'

/** One row: cells in the order of the statement, as the server's text, unless parsers of a host replaced it. */
export type RawRow = readonly unknown[]

/** One statement, as `pg` takes it. */
export interface DriverQuery {
  readonly text: string
  readonly name?: string
  readonly values: unknown[]
  readonly rowMode: 'array'
  readonly types: { getTypeParser(): (raw: string) => unknown }
}

/** The part of a result of `pg` this adapter uses. */
export interface DriverResult {
  /** The first word of the server's command tag: `COMMIT`, `ROLLBACK`, `SELECT` … */
  readonly command: string
  readonly rows: unknown[]
}

/** The part of a `pg.Client` this adapter uses. */
export interface DriverClient {
  query(query: DriverQuery): Promise<DriverResult>
}

/** The part of a client of a `pg.Pool` this adapter uses. */
export interface PooledClient extends DriverClient {
  release(destroy?: boolean): void
  /** The socket, to close it without a farewell. Absent in drivers that keep it to themselves. */
  readonly connection?: { readonly stream?: { destroy(error?: Error): unknown } }
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
}

/** The part of a `pg.Pool` this adapter uses. The callback runs as soon as the client is connected, before it reads on. */
export interface DriverPool {
  connect(callback: (error: Error | undefined, client: PooledClient | undefined) => void): unknown
}

/** One statement with the values of this call. Without a name it is parsed again each time. */
export interface PreparedQuery {
  readonly text: string
  readonly name?: string
  readonly parameters: readonly unknown[]
  /** True for work on the schema, which can take longer than any other statement may. */
  readonly isUnlimited?: boolean
}

/** What one statement returned. Absent for several statements in one text, such as the one that begins a transaction. */
export interface QueryResult {
  readonly command: string
  readonly rows: readonly RawRow[]
}

/** One connection. Queries run strictly in the order they were sent. */
export interface Connection {
  /** True if the application sends on the same connection: when a call ends, none of its queries may still wait. */
  readonly isShared?: boolean
  send(query: PreparedQuery): Promise<QueryResult>
}

/** Cells stay the text the server wrote: global or pool-wide type parsers are neither used nor changed. */
const RAW_TEXT = { getTypeParser: () => (raw: string) => raw }

const connections = new WeakMap<DriverClient, Connection>()

/** The connection over a client of the driver; one for each client, so that all who use it keep its query. */
export function driverConnection(client: DriverClient): Connection {
  const found = connections.get(client)
  if (found !== undefined) return found
  const made = createDriverConnection(client)
  connections.set(client, made)
  return made
}

/** Without pipelining the next query waits here, because the driver takes only one at a time. */
function createDriverConnection(client: DriverClient): Connection {
  let hasForgotten = false

  async function send({ text, name, parameters }: PreparedQuery): ReturnType<Connection['send']> {
    const query: DriverQuery = { text, values: [...parameters], rowMode: 'array', types: RAW_TEXT }
    try {
      const { command, rows } = await client.query(name === undefined || hasForgotten ? query : { ...query, name })
      // With rowMode 'array' the driver returns every row as an array.
      return { command, rows: rows as RawRow[] }
    } catch (error) {
      // The driver believes for ever that the statements it prepared are there: this client gets no names any more.
      hasForgotten ||= retryReason(error) === 'forgotten'
      throw error
    }
  }
  return { send: isPipelined(client) ? send : runSequentially(send) }
}

function isPipelined(client: DriverClient): boolean {
  return 'pipeline' in client && client.pipeline === true
}

/** Begins each call when the one before has ended, with or without an error. */
export function runSequentially<A, T>(call: (argument: A) => Promise<T>): (argument: A) => Promise<T> {
  let busy = 0
  let last: Promise<unknown> = Promise.resolve()
  return (argument) => {
    const mine = busy === 0 ? call(argument) : last.then(() => call(argument))
    busy++
    last = mine.then(done, done)
    return mine
  }
  function done(): void {
    busy--
  }
}
