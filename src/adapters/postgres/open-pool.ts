/** Opens a pool that belongs to the storage, and ends it in bounded time. */
import type { Pool, PoolConfig } from 'pg'
import { closedError } from '../errors/storage-errors.ts'
import { missingPackageError } from '../packages/require-package.ts'
import type { DriverPool, PooledClient } from './driver-connection.ts'
import { type PostgresTls, settingStatements, type Timeouts } from './postgres-options.ts'

/** Default size of a pool. */
const DEFAULT_CONNECTIONS = 10
/** Idle time after which the operating system asks whether the other side still exists. Its own default is two hours. */
const KEEP_ALIVE_MS = 30_000

/** A pool and how to end it. */
export interface OpenedPool {
  readonly pool: DriverPool
  /** The pool of the driver; undefined until it is made. */
  driverPool(): object | undefined
  /** Closes the connections that no call uses. */
  dropIdle(): void
  /** Waits for running calls up to a time in milliseconds, then closes every connection. */
  end(withinMs: number): Promise<void>
}

/** What a pool needs beside its address. */
interface PoolOptions {
  readonly ssl: boolean | PostgresTls | undefined
  readonly maxConnections: number | undefined
  readonly timeouts: Timeouts
  /** True if a session is this storage's alone, so that its settings can be set once. False behind a transaction pooler. */
  readonly ownsSessions: boolean
}

/** What the driver reads as an address. It takes any other text for one too, and looks for a host that no one has named. */
const ADDRESS = /^(?:\/|socket:|(?!https?:)[a-z][a-z\d+.-]*:\/\/)/i

/** Returns at once. The package `pg` is loaded, and the pool made, when the first connection is needed. */
export function openPool(connectionString: string, { ssl, maxConnections, timeouts, ownsSessions }: PoolOptions): OpenedPool {
  const clients = new Set<PooledClient>()
  const idle = new Set<PooledClient>()
  const pool = createLazyPool(async () => {
    if (!ADDRESS.test(connectionString)) throw Object.assign(new Error('no address'), { code: 'ERR_INVALID_URL' })
    const made = await createPool({
      connectionString,
      // The types of the driver want arrays that can be changed, and it changes none.
      ...(ssl === undefined ? {} : { ssl: ssl as Exclude<PoolConfig['ssl'], undefined> }),
      max: maxConnections ?? DEFAULT_CONNECTIONS,
      connectionTimeoutMillis: timeouts.connectMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      pipeline: true,
    })
    // The pool drops an idle connection that breaks; without a listener the error event would end the process.
    made.on('error', ignore)
    made.on('connect', (client) => {
      clients.add(client)
      // Not awaited: it is the first in the pipeline. A session without its limits is not used.
      if (ownsSessions) client.query(settingStatements(timeouts, 'session')).catch(() => client.connection?.stream?.destroy())
    })
    made.on('acquire', (client) => void idle.delete(client))
    made.on('release', (error, client) => {
      if (!error && clients.has(client)) idle.add(client)
    })
    made.on('remove', (client) => {
      clients.delete(client)
      idle.delete(client)
    })
    return made
  })

  const queue = createQueue(pool)
  return {
    pool: queue,
    driverPool: pool.made,
    dropIdle: () => closeAll(idle),
    end: (withinMs) =>
      new Promise((resolve) => {
        const timer = setTimeout(() => {
          queue.refuse()
          closeAll(clients)
          resolve()
        }, withinMs)
        const finish = (): void => {
          // The pool has ended, but a silent network can keep the farewell of an idle connection waiting.
          if (clients.size === 0) clearTimeout(timer)
          else timer.unref()
          resolve()
        }
        queue
          .served()
          .then(() => pool.end())
          .then(finish, finish)
      }),
  }
}

function closeAll(clients: Iterable<PooledClient>): void {
  for (const client of clients) client.connection?.stream?.destroy()
}

/** Loads the package, which is optional, and makes a pool. */
async function createPool(options: PoolConfig): Promise<Pool> {
  let pg: typeof import('pg')
  try {
    pg = await import('pg')
  } catch (error) {
    throw missingPackageError({ user: 'postgresStorage', name: 'pg' }, error)
  }
  return new pg.Pool(options)
}

/** A pool that is made for the first connection. */
function createLazyPool(
  make: () => Promise<DriverPool & Pick<Pool, 'end'>>,
): DriverPool & Pick<Pool, 'end'> & { made(): object | undefined } {
  let made: (DriverPool & Pick<Pool, 'end'>) | undefined
  let making: Promise<void> | undefined

  async function start(): Promise<void> {
    made = await make()
  }

  /** The driver reads the address only for a client, and throws if it cannot. */
  function ask(done: Parameters<DriverPool['connect']>[0]): void {
    try {
      made?.connect(done)
    } catch (error) {
      done(error instanceof Error ? error : new Error('no client'), undefined)
    }
  }

  return {
    made: () => made,
    connect(done) {
      if (made !== undefined) {
        ask(done)
        return
      }
      making ??= start()
      making.then(
        () => ask(done),
        (error: Error) => done(error, undefined),
      )
    },
    async end() {
      await making?.catch(ignore)
      await made?.end()
    },
  }
}

/** A pool whose callers that wait for a client are known: a pool that ends forgets them, and they would wait for nothing. */
function createQueue(pool: DriverPool): DriverPool & {
  /** Resolves when no caller waits. */
  served(): Promise<void>
  /** Refuses all who wait. */
  refuse(): void
} {
  const waiting = new Set<Parameters<DriverPool['connect']>[0]>()
  let onServed = ignore

  function leave(done: Parameters<DriverPool['connect']>[0]): void {
    waiting.delete(done)
    if (waiting.size === 0) onServed()
  }

  return {
    connect(done) {
      waiting.add(done)
      pool.connect((error, client) => {
        leave(done)
        done(error, client)
      })
    },
    async served() {
      if (waiting.size === 0) return
      await new Promise<void>((resolve) => {
        onServed = resolve
      })
    },
    refuse() {
      for (const done of waiting) {
        leave(done)
        done(closedError('PostgreSQL'), undefined)
      }
    },
  }
}

function ignore(): void {}

/** The request for TLS, which a PostgreSQL server answers with one letter before anything else is said. */
const TLS_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])
/** S and N: TLS is offered, or not. An error begins with E. */
const ANSWERS = /^(?:[SN]$|E\0)/
/** Longest wait for the answer, in milliseconds. A server that speaks first or answers at all does so at once. */
const WAIT_MS = 2000

/** An address as a client of `pg` has it. A host that begins with `/` is a folder of sockets. */
interface PortAddress {
  readonly host: string
  readonly port: number
}

/** The address that a pool of `pg` connects to; undefined if it does not say. */
export function addressOf(pool: object | undefined): PortAddress | undefined {
  if (pool === undefined) return undefined
  try {
    const Client: unknown = Reflect.get(pool, 'Client')
    if (typeof Client !== 'function') return undefined
    // A client reads connection strings and the environment. It connects only when asked to.
    const client: unknown = Reflect.construct(Client, [Reflect.get(pool, 'options')])
    const [host, port] = [Reflect.get(Object(client), 'host'), Reflect.get(Object(client), 'port')]
    return typeof host === 'string' && typeof port === 'number' ? { host, port } : undefined
  } catch {
    return undefined
  }
}

/** True if something answers that is not PostgreSQL. False if nothing does. */
export async function speaksOtherwiseAt({ host, port }: PortAddress): Promise<boolean> {
  // Needed after a failure alone, and not there in every runtime that the driver runs in.
  const net = await import('node:net').catch(() => undefined)
  if (net === undefined) return false
  const socket = host.startsWith('/') ? net.connect(`${host}/.s.PGSQL.${port}`) : net.connect(port, host)
  return new Promise((resolve) => {
    const timer = setTimeout(() => end(false), WAIT_MS)
    function end(isOther: boolean): void {
      clearTimeout(timer)
      socket.destroy()
      resolve(isOther)
    }
    socket
      .on('connect', () => socket.write(TLS_REQUEST))
      .on('data', (bytes) => end(!ANSWERS.test(bytes.toString('latin1'))))
      .on('error', () => end(false))
      .on('close', () => end(false))
  })
}
