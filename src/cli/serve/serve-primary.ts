/** Accepts connections for workers, starts those again that die, and ends them in an order in which no request is lost. */
import cluster, { type Worker } from 'node:cluster'
import { createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../../index.ts'
import type { ServerSettings } from '../config/server-shape.ts'
import { EXIT, type ExitCode } from '../failure.ts'
import { openHealthServer } from './health-server.ts'
import { inTime } from './in-time.ts'
import { listen } from './listen.ts'
import { type Addresses, CLOSE_MS, type ServeEnd } from './serve-alone.ts'
import { createServerLog, endAtDefects, errorFields } from './server-log.ts'
import { createPrimaryMetrics, metricsText, type PrimaryMetrics } from './server-metrics.ts'
import { followSignals } from './signals.ts'
import type { FromWorker, ToWorker } from './worker-messages.ts'

/** Time for which a worker can take to answer, in milliseconds. */
const ANSWER_MS = 3000
/** Between the death of a worker and its next start, in milliseconds. */
const MIN_RESTART_MS = 100
const MAX_RESTART_MS = 30_000
/** A worker that lived for so long starts again at once, in milliseconds. */
const STABLE_MS = 60_000

/** Returns for how long to wait before a worker starts again, when it lived for so long and the one before had to wait for so long. */
export function restartDelay(livedMs: number, lastDelayMs: number): number {
  return livedMs >= STABLE_MS ? MIN_RESTART_MS : Math.min(MAX_RESTART_MS, Math.max(MIN_RESTART_MS, lastDelayMs * 2))
}

/** Serves with workers until a signal ends it. The first worker opens the vault alone: what is wrong shows once, and a new schema is applied once. */
export async function servePrimary(settings: ServerSettings, announce: (addresses: Addresses) => void): Promise<ExitCode> {
  const { shutdown } = settings
  const log = createServerLog(settings.log.level)
  endAtDefects(log)
  const metrics = createPrimaryMetrics()
  const workers = createWorkers(log, metrics)
  let isAccepting = false
  const signals = followSignals(settings.tls === undefined ? undefined : () => workers.sayToAll({ kind: 'reload' }))
  // Paused, so that no byte is read here.
  const front = createServer({ pauseOnConnect: true }, (socket) => {
    const worker = workers.next()
    if (worker === undefined) socket.destroy()
    else worker.send({ kind: 'connection' }, socket, undefined, (error) => error !== null && socket.destroy())
  })
  const health = await openHealthServer(
    {
      isReady: async () => isAccepting && (await workers.ask('ready')).some(({ isReady }) => isReady),
      metrics: async () => metricsText([await metrics.read(), ...(await workers.ask('metrics')).map((one) => one.metrics)]),
    },
    settings.health,
  )
  try {
    const first = await Promise.race([workers.startFirst(), signals.end.then(() => 'ended' as const)])
    // The worker has said why.
    if (typeof first === 'number') return first
    if (first === 'ended') return await endWorkers(workers, shutdown.limitMs, signals.endNow)
    const port = await listen(front, settings, '--port')
    front.on('error', (error) => log.error(errorFields(error), 'connection not accepted'))
    for (let started = 1; started < settings.workers; started++) workers.start()
    isAccepting = true
    announce({ port, healthPort: health.port })
    await signals.end
    isAccepting = false
    log.info({}, 'ending')
    if (shutdown.delayMs > 0) {
      workers.sayToAll({ kind: 'announceEnd' })
      await Promise.race([pause(shutdown.delayMs), signals.endNow])
    }
    // Closed before a client reads that its connection ends, and connects again.
    front.close()
    return await endWorkers(workers, shutdown.limitMs, signals.endNow)
  } finally {
    workers.kill()
    front.close()
    health.close()
  }
}

async function endWorkers(workers: Workers, limitMs: number, endNow: Promise<void>): Promise<ServeEnd> {
  const late = pause(limitMs + 2 * CLOSE_MS, 1 as const, { ref: false })
  return Promise.race([workers.end(), endNow.then(() => 130 as const), late])
}

type Answer = Extract<FromWorker, { readonly kind: 'answer' }>

/** The workers of a primary. */
interface Workers {
  /** Starts the first one. Resolves when it is ready, or to its exit code. */
  startFirst(): Promise<'ready' | ExitCode>
  start(): void
  /** The next one that is ready, in turn. */
  next(): Worker | undefined
  sayToAll(message: ToWorker): void
  /** Asks those that are ready. One that does not answer in time is left out. */
  ask(question: 'metrics' | 'ready'): Promise<Answer[]>
  /** Ends all, after the connections that were sent to them. Resolves to 1 if one had to cut requests. */
  end(): Promise<0 | 1>
  kill(): void
}

function createWorkers(log: Log, metrics: PrimaryMetrics): Workers {
  const alive = new Set<Worker>()
  const ready: Worker[] = []
  const questions = new Map<number, (answer: Answer) => void>()
  let number = 0
  let turn = 0
  let delay = 0
  let upkeep: Worker | undefined
  let hasStarted = false
  let isEnding = false
  const ended = Promise.withResolvers<0 | 1>()
  let end: 0 | 1 = 0
  const send = (worker: Worker, message: ToWorker): void => {
    // One that has just died takes nothing.
    if (worker.isConnected()) worker.send(message, () => {})
  }
  const sayToAll = (message: ToWorker): void => {
    for (const worker of alive) send(worker, message)
  }
  const chooseUpkeep = (): void => {
    upkeep = ready[0]
    if (upkeep !== undefined) send(upkeep, { kind: 'beginUpkeep' })
  }
  const becameReady = (worker: Worker): void => {
    ready.push(worker)
    metrics.workersReady(ready.length)
    // It did not listen yet when the others were sent this.
    if (isEnding) send(worker, { kind: 'drain' })
    else if (upkeep === undefined) chooseUpkeep()
  }
  const hear = (worker: Worker, message: FromWorker): void => {
    if (message.kind === 'ready') becameReady(worker)
    else if (message.kind === 'answer') questions.get(message.number)?.(message)
    else for (const other of ready) if (other !== worker) send(other, message)
  }
  const restart = (
    worker: Worker,
    livedMs: number,
    exit: { readonly code: number | null; readonly signal: string | null },
  ): void => {
    delay = restartDelay(livedMs, delay)
    log.error({ worker: worker.process.pid, ...exit, againInMs: Math.round(delay) }, 'a worker died')
    metrics.workerDied()
    if (upkeep === worker) chooseUpkeep()
    setTimeout(() => !isEnding && start(), delay).unref()
  }
  const start = (): Worker => {
    const worker = cluster.fork()
    const begun = performance.now()
    alive.add(worker)
    worker.on('message', (message: FromWorker) => hear(worker, message))
    worker.once('exit', (code, signal) => {
      alive.delete(worker)
      const index = ready.indexOf(worker)
      if (index >= 0) ready.splice(index, 1)
      metrics.workersReady(ready.length)
      if (isEnding) {
        if (code !== 0) end = 1
        if (alive.size === 0) ended.resolve(end)
      } else if (hasStarted) restart(worker, performance.now() - begun, { code, signal })
    })
    return worker
  }
  return {
    startFirst() {
      const worker = start()
      return new Promise((resolve) => {
        worker.on('message', ({ kind }: FromWorker) => {
          if (kind !== 'ready') return
          hasStarted = true
          resolve('ready')
        })
        worker.once('exit', (code) => resolve(Object.values(EXIT).find((one) => one === code && one !== 0) ?? EXIT.internal))
      })
    },
    start,
    next() {
      turn++
      return ready[turn % ready.length]
    },
    sayToAll,
    async ask(question) {
      const asked = ready.map(async (worker) => {
        const own = number++
        const answer = new Promise<Answer>((resolve) => questions.set(own, resolve))
        send(worker, { kind: 'ask', question, number: own })
        const first = await inTime(answer, ANSWER_MS, undefined)
        questions.delete(own)
        return first
      })
      return (await Promise.all(asked)).filter((answer) => answer !== undefined)
    },
    end() {
      isEnding = true
      sayToAll({ kind: 'drain' })
      if (alive.size === 0) ended.resolve(end)
      return ended.promise
    },
    kill() {
      isEnding = true
      for (const worker of alive) worker.process.kill('SIGKILL')
    },
  }
}
