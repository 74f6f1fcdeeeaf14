/** A thread that talks to a token, because its calls block. It is started by the first request, and again after it was ended. */
import { Worker } from 'node:worker_threads'
import { TOKEN_WORKER, type TokenFailure, type TokenPlace, type TokenReply, type TokenRequest } from './token-worker.ts'

/** What the thread could not do. */
export class TokenError extends Error {
  readonly failure: TokenFailure
  constructor(failure: TokenFailure) {
    super(failure.stage)
    this.failure = failure
  }
}

/** What ends with the thread: it was stopped, or did not start. */
const STOPPED = new TokenError({ stage: 'call' })
/** Time for the thread to end its session, in milliseconds. */
const END_MS = 1000

/** Requests to one token, one after the other. */
export interface TokenThread {
  /** Rejects with a `TokenError`. When the signal is aborted, the thread is given up: the call of the token may never return. */
  ask(request: Omit<TokenRequest, 'id'>, signal: AbortSignal): Promise<Uint8Array>
  /** Ends the session and the thread, after the requests before. */
  close(): Promise<void>
}

/** A thread that runs, and who waits for it. */
interface Running {
  readonly worker: Worker
  readonly waiting: Map<number, { resolve(bytes: Uint8Array): void; reject(error: TokenError): void }>
  readonly ended: Promise<void>
}

/** Returns the thread of a token. `place` is asked when it starts. */
export function createTokenThread(place: () => TokenPlace): TokenThread {
  let running: Running | undefined
  let lastId = 0

  function start(): Running {
    const worker = new Worker(TOKEN_WORKER, { eval: true, workerData: place(), execArgv: [], name: 'strongroom token' })
    const waiting: Running['waiting'] = new Map()
    const ended = new Promise<void>((resolve) => {
      worker.once('exit', () => resolve())
    })
    const started = { worker, waiting, ended }
    worker.on('message', ({ id, bytes, failure }: TokenReply) => {
      const call = waiting.get(id)
      waiting.delete(id)
      if (bytes === undefined) call?.reject(new TokenError(failure ?? STOPPED.failure))
      else if (call === undefined) bytes.fill(0)
      else call.resolve(bytes)
    })
    // An error ends the thread, too.
    worker.on('error', () => {})
    void ended.then(() => abandon(started))
    // The time limit of the call keeps the process alive.
    worker.unref()
    return started
  }

  function abandon(thread: Running): void {
    if (running === thread) running = undefined
    for (const { reject } of thread.waiting.values()) reject(STOPPED)
    thread.waiting.clear()
  }

  return {
    ask(request, signal) {
      running ??= start()
      const thread = running
      const id = ++lastId
      const reply = new Promise<Uint8Array>((resolve, reject) => thread.waiting.set(id, { resolve, reject }))
      signal.addEventListener('abort', () => {
        if (!thread.waiting.has(id)) return
        abandon(thread)
        void thread.worker.terminate()
      })
      // A copy goes over, and the thread overwrites it.
      const bytes = Uint8Array.from(request.bytes)
      thread.worker.postMessage({ ...request, bytes, id }, [bytes.buffer])
      return reply
    },
    async close() {
      const thread = running
      if (thread === undefined) return
      running = undefined
      thread.worker.postMessage({ task: 'end' })
      // The caller waits for its end, and nothing else keeps the process alive.
      thread.worker.ref()
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, END_MS)
      })
      await Promise.race([thread.ended, late])
      clearTimeout(timer)
      void thread.worker.terminate()
    },
  }
}
