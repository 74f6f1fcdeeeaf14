/** The part of the `pg` driver this adapter uses, described by shape, so that a pool from any copy or version of it fits. */

/** One row as this adapter asks for it: cells in the order of the statement. Text as the server wrote it, unless a host's parsers came first. */
export type RawRow = readonly unknown[]

export interface DriverQuery {
  readonly text: string
  readonly name?: string
  readonly values: unknown[]
  readonly rowMode: 'array'
  readonly types: { getTypeParser(): (raw: string) => unknown }
}

export interface DriverAnswer {
  /** The first word of the server's command tag: `COMMIT`, `ROLLBACK`, `SELECT` … */
  readonly command: string
  readonly rows: unknown[]
}

export interface DriverClient {
  query(query: DriverQuery): Promise<DriverAnswer>
}

export interface PooledClient extends DriverClient {
  release(destroy?: boolean): void
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
}

/** What a `pg.Pool` is to this adapter. */
export interface DriverPool {
  connect(): Promise<PooledClient>
}

/** One statement with the values of this call. Without a name it is parsed again each time. */
export interface Order {
  readonly text: string
  readonly name?: string
  readonly parameters: readonly unknown[]
}

/** One connection, on which orders run strictly in the order they were sent. */
export interface Line {
  /** True where the application sends on the same connection as well: when a call ends, none of its orders may be waiting still. */
  readonly isShared?: boolean
  send(order: Order): Promise<{ readonly command: string; readonly rows: readonly RawRow[] }>
}

/** Cells stay the text the server wrote: global or pool-wide type parsers are neither used nor changed. */
const RAW_TEXT = { getTypeParser: () => (raw: string) => raw }

const lines = new WeakMap<DriverClient, Line>()

/** The line over a client of the driver; one for each client, so that all who use it keep its order. */
export function driverLine(client: DriverClient): Line {
  const found = lines.get(client)
  if (found !== undefined) return found
  const made = createDriverLine(client)
  lines.set(client, made)
  return made
}

/** Without pipelining the next order waits here, as the driver wants at most one at a time. */
function createDriverLine(client: DriverClient): Line {
  async function send(order: Order): ReturnType<Line['send']> {
    const { text, name, parameters } = order
    const query: DriverQuery = { text, values: [...parameters], rowMode: 'array', types: RAW_TEXT }
    const { command, rows } = await client.query(name === undefined ? query : { ...query, name })
    // With rowMode 'array' the driver answers every row as an array.
    return { command, rows: rows as RawRow[] }
  }
  return { send: isPipelined(client) ? send : oneByOne(send) }
}

function isPipelined(client: DriverClient): boolean {
  return 'pipeline' in client && client.pipeline === true
}

/** Lets each call begin when the one before has ended, however it ended. */
export function oneByOne<A, T>(call: (argument: A) => Promise<T>): (argument: A) => Promise<T> {
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
