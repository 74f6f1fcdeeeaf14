/** Serves from a worker: its primary process accepts connections, and says when to end. */
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { CLOSE_MS, type ServeEnd } from './serve-alone.ts'
import { type Serving, startUnless, type VaultProcess } from './vault-process.ts'
import type { FromWorker, ToWorker } from './worker-messages.ts'

/** Serves until the primary says that it ends. Throws what opening files and the vault throws. */
export async function serveWorker(serving: Serving): Promise<ServeEnd> {
  try {
    return await serveUntilEnd(serving)
  } finally {
    // The process ends although it listens to the primary.
    process.channel?.unref()
  }
}

async function serveUntilEnd(serving: Serving): Promise<ServeEnd> {
  // A terminal and systemd send these to all processes. The primary sends each worker its last connection first.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
  const { promise: end, resolve: endNow } = Promise.withResolvers<void>()
  let running: VaultProcess | undefined
  process.on('message', (message: ToWorker, socket: Socket | undefined) => {
    if (message.kind === 'drain') endNow()
    // Nothing else comes before `ready` is sent.
    else if (running !== undefined) obey(running, message, socket)
  })
  running = await startUnless(end, serving, (learned) => say({ kind: 'learned', learned }))
  if (running === undefined) return 0
  say({ kind: 'ready' })
  await end
  const cut = await running.server.drain(serving.server.shutdown.limitMs)
  if (cut > 0) running.log.error({ requests: cut }, 'ended at the time limit: requests were cut')
  await Promise.race([running.close(), pause(CLOSE_MS, undefined, { ref: false })])
  return cut > 0 ? 1 : 0
}

function obey({ server, ...running }: VaultProcess, message: ToWorker, socket: Socket | undefined): void {
  // A socket is undefined for a client that went away meanwhile.
  if (message.kind === 'connection' && socket !== undefined) server.take(socket)
  else if (message.kind === 'announceEnd') server.announceEnd()
  else if (message.kind === 'reload') void server.reload()
  else if (message.kind === 'beginUpkeep') running.beginUpkeep()
  else if (message.kind === 'learned') server.learn(message.learned)
  else if (message.kind === 'ask') void answer(running, message)
}

async function answer(
  running: Pick<VaultProcess, 'isReady' | 'readMetrics'>,
  { question, number }: Extract<ToWorker, { readonly kind: 'ask' }>,
): Promise<void> {
  const isReady = question === 'ready' && (await running.isReady())
  const metrics = question === 'metrics' ? await running.readMetrics() : []
  say({ kind: 'answer', number, metrics, isReady })
}

function say(message: FromWorker): void {
  // A primary that has died takes nothing.
  process.send?.(message, undefined, undefined, () => {})
}
