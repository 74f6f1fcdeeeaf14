/** Takes clients from a pool and gives them back. A client that breaks or falls silent while it is held is closed. No call waits at length for a network that has fallen silent. */
import { isVaultError } from '../../core/errors.ts'
import {
  type Connection,
  type DriverPool,
  driverConnection,
  type PooledClient,
  type PreparedQuery,
  type QueryResult,
} from './driver-connection.ts'
import { connectError, isConnectionLost, postgresCause, retryReason, setupError, sqlState } from './postgres-errors.ts'
import type { Timeouts } from './postgres-options.ts'

/** Where clients come from, and how long they are waited for. */
export interface ClientSource {
  readonly pool: DriverPool
  readonly timeouts: Timeouts
  readonly network: Network
}

/** A client that belongs to one call or transaction until it is released. */
export interface HeldClient {
  readonly connection: Connection
  /** True once the connection was found to be broken: nothing sent on it arrives. */
  isLost(): boolean
  /** Gives the client back to its pool, which closes it if it is broken. */
  release(isBroken: boolean): void
}

/** Takes a client. Throws `unavailable` if there is none in time. */
export async function takeClient(source: ClientSource): Promise<HeldClient> {
  const { network, timeouts } = source
  const patienceMs = network.patienceMs(timeouts.connectMs)
  try {
    if (patienceMs === 0) throw new Error('no connection a moment ago')
    const began = performance.now()
    const held = holdClient(await connect(source, patienceMs), source)
    if (network.isSilent()) await assertAnswers(held, network, patienceMs - (performance.now() - began))
    return held
  } catch (error) {
    throw isVaultError(error) ? error : connectError(error)
  }
}

/** Closes a client that does not answer in time, and throws. */
async function assertAnswers(held: HeldClient, network: Network, patienceMs: number): Promise<void> {
  let stop = (): void => {}
  const isLate = new Promise<never>((_, reject) => {
    stop = network.wait(patienceMs, () => reject(new Error('no answer in time')))
  })
  try {
    await Promise.race([held.connection.send({ text: 'select 1', parameters: [] }), isLate])
  } catch (error) {
    held.release(true)
    network.missed()
    throw error
  } finally {
    stop()
  }
}

/**
 * The callback form of `connect`: the listener for errors is attached before the client reads on. After the promise form an error that
 * the server sent together with its greeting would have no listener, and would end the process.
 */
function connect({ pool, network }: ClientSource, patienceMs: number): Promise<PooledClient> {
  return new Promise((resolve, reject) => {
    let taken: PooledClient | undefined
    let isOver = false
    let stop = (): void => {}

    function arrive(error: unknown, client?: PooledClient): void {
      if (isOver) {
        // It came too late: its caller waits no longer.
        if (client !== undefined && client !== taken) client.release()
        return
      }
      isOver = true
      stop()
      if (!isPooledClient(client)) {
        reject(client === undefined && error instanceof Error ? error : setupError(NO_CLIENT, postgresCause(undefined)))
        return
      }
      taken = client
      client.on('error', noteFailure)
      resolve(client)
    }

    function late(): void {
      network.missed()
      arrive(new Error('no connection in time'))
    }

    const promised = pool.connect(arrive)
    // A pool hands over an idle client in its next tick. That was scheduled before this one, so most calls need no timer.
    process.nextTick(() => {
      if (!isOver) stop = network.wait(patienceMs, late)
    })
    // A pool that knows only the promise form ignores the callback.
    if (promised instanceof Promise) promised.then((client: PooledClient) => arrive(undefined, client), arrive)
  })
}

const NO_CLIENT = 'The pool gives no clients of pg. Give a pool of the package pg as pool, or a connectionString.'

function isPooledClient(client: PooledClient | undefined): client is PooledClient {
  return client !== undefined && POOLED_METHODS.every((name) => typeof client[name] === 'function')
}

const POOLED_METHODS = ['query', 'release', 'on', 'removeListener'] as const

/** Why a client broke, if the server said so while no statement ran: the error of the next statement does not repeat it. */
const failures = new WeakMap<PooledClient, Error>()

function noteFailure(this: PooledClient, error: Error): void {
  if (!failures.has(this)) failures.set(this, error)
}

function holdClient(client: PooledClient, { network, timeouts }: ClientSource): HeldClient {
  const connection = driverConnection(client)
  const watch = watchOf(client, network, timeouts.silenceMs)
  let isLost = false
  let hasForgotten = false

  async function send(query: PreparedQuery): Promise<QueryResult> {
    watch.sent(query)
    try {
      const result = await connection.send(query)
      network.heard()
      return result
    } catch (thrown) {
      const hasAnswered = sqlState(thrown) !== undefined
      if (hasAnswered) network.heard()
      const error = hasAnswered ? thrown : (failures.get(client) ?? thrown)
      isLost ||= isConnectionLost(error)
      hasForgotten ||= retryReason(error) === 'forgotten'
      throw error
    } finally {
      watch.answered(query)
    }
  }

  const held: HeldClient = {
    connection: { send },
    isLost: () => isLost,
    release(mustClose) {
      if (!network.used.delete(held)) return
      // The driver believes that its statements are there, and would go on to name them.
      const isBroken = mustClose || hasForgotten
      if (isBroken) watch.stop()
      // A broken client keeps the listener: its socket may report once more.
      if (!isBroken) client.removeListener('error', noteFailure)
      client.release(isBroken)
      // Without this the pool waits for a farewell that a silent network never brings.
      if (isBroken) closeSocket(client)
    },
  }
  network.used.add(held)
  return held
}

function closeSocket(client: PooledClient, error?: Error): void {
  client.connection?.stream?.destroy(error)
}

type Watch = ReturnType<typeof createWatch>

/** The watch of each client. It outlives the hold, because a timer that goes on costs less than one for each hold. */
const watches = new WeakMap<PooledClient, Watch>()

function watchOf(client: PooledClient, network: Network, silenceMs: number): Watch {
  const found = watches.get(client)
  // A pool of the application can serve several storages, with different limits.
  if (found?.network === network) return found
  found?.stop()
  const made = createWatch(network, silenceMs, () => {
    closeSocket(client, Object.assign(new Error('silent'), { code: 'ETIMEDOUT' }))
    network.fellSilent()
  })
  watches.set(client, made)
  return made
}

/** Notices a connection on which statements wait and nothing is answered for `silenceMs`. */
function createWatch(network: Network, silenceMs: number, onSilence: () => void) {
  let waiting = 0
  let unlimited = 0
  let timer: NodeJS.Timeout | undefined

  function check(): void {
    if (waiting === 0) return
    if (unlimited > 0) timer?.refresh()
    else onSilence()
  }

  return {
    network,
    sent({ isUnlimited }: PreparedQuery): void {
      if (isUnlimited === true) unlimited++
      if (timer === undefined) timer = setTimeout(check, silenceMs).unref()
      else if (waiting === 0) timer.refresh()
      waiting++
    },
    answered({ isUnlimited }: PreparedQuery): void {
      if (isUnlimited === true) unlimited--
      if (--waiting > 0) timer?.refresh()
    },
    stop: () => clearTimeout(timer),
  }
}

/** How long a call waits for a connection that answers, on a network that was silent last. */
const GRACE_MS = 3_000
/** How long no call asks again after one has waited in vain: the steps of one call wait once together. */
const ASKED_LATELY_MS = 1_000

/** A connection in use. */
interface UsedConnection {
  /** Gives it back, closed if `isBroken`: what waits for an answer on it fails. Again does nothing. */
  release(isBroken: boolean): void
}

/** A call that waits for a connection. */
interface Wait {
  over(): void
  shorten(): void
}

/** The network of one storage handle. Its connections say what happens to them. */
interface Network {
  /** Longest wait for a connection from now on, in milliseconds; 0 if another call has just waited in vain. */
  patienceMs(connectMs: number): number
  /** Calls back after a time, or earlier if the network falls silent meanwhile. Returns a function that prevents the call. */
  wait(ms: number, expire: () => void): () => void
  /** True after silence: a connection must answer something before it is used. */
  isSilent(): boolean
  /** Notes an answer of the server. */
  heard(): void
  /** Notes a statement without an answer, or a connection that was not made in time. */
  fellSilent(): void
  /** Notes that a call has waited in vain for a connection. */
  missed(): void
  readonly used: Set<UsedConnection>
  /** Ends every wait, and closes the connections in use. */
  end(): void
}

/** `dropIdle` closes connections that no call uses: they are likely to be as silent, and new ones are not. */
export function createNetwork(dropIdle: () => void): Network {
  const waits = new Set<Wait>()
  const used = new Set<UsedConnection>()
  let isSilent = false
  let missedAt = Number.NEGATIVE_INFINITY

  function fellSilent(): void {
    if (isSilent) return
    isSilent = true
    dropIdle()
    for (const { shorten } of waits) shorten()
  }

  return {
    used,
    isSilent: () => isSilent,
    fellSilent,
    heard() {
      isSilent = false
    },
    missed() {
      missedAt = performance.now()
      // Where connections are in use, all of them can be busy: theirs is the silence to notice.
      if (used.size === 0) fellSilent()
    },
    patienceMs(connectMs) {
      if (!isSilent) return connectMs
      return performance.now() - missedAt < ASKED_LATELY_MS ? 0 : Math.min(connectMs, GRACE_MS)
    },
    wait(ms, expire) {
      const end = performance.now() + ms
      const wait: Wait = {
        over() {
          stop()
          expire()
        },
        shorten() {
          clearTimeout(timer)
          timer = setTimeout(wait.over, Math.max(0, Math.min(GRACE_MS, end - performance.now())))
        },
      }
      let timer = setTimeout(wait.over, ms)
      waits.add(wait)
      function stop(): void {
        clearTimeout(timer)
        waits.delete(wait)
      }
      return stop
    },
    end() {
      for (const { over } of waits) over()
      for (const connection of used) connection.release(true)
    },
  }
}
