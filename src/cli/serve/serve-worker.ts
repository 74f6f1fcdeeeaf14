/** Serves from a worker: its primary process accepts connections, and says when to end. */
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { CLOSE_MS, type ServeEnd } from './serve-alone.ts'
import { type Serving, startVaultProcess, type VaultProcess } from './vault-process.ts'
import type { FromWorker, ToWorker } from './worker-messages.ts'

/** Serves until the primary says that it ends. Throws what opening files and the vault throws. */
export async function serveWorker(serving: Serving): Promise<ServeEnd> {
  // A terminal and systemd send these to all processes. The primary sends each worker its last connection first.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
  const { promise: end, resolve: endNow } = Promise.withResolvers<void>()
  let running: VaultProcess | undefined
  process.on('message', (message: ToWorker, socket: Socket | undefined) => {
    if (message.kind === 'drain') endNow()
    // Nothing else comes before `ready` is sent.
    else if (running !== undefined) obey(running, message, socket)
  })
  running = await Promise.race([startVaultProcess(serving, (learned) => say({ kind: 'learned', learned })), end.then(() => undefined)])
  if (running === undefined) return 0
  say({ kind: 'ready' })
  await end
  const cut = await running.server.drain(serving.server.shutdown.limitMs)
  if (cut > 0) running.log.error({ requests: cut }, 'ended at the time limit: requests were cut')
  await Promise.race([running.close(), pause(CLOSE_MS)])
  return cut > 0 ? 1 : 0
}

function obey(running: VaultProcess, message: ToWorker, socket: Socket | undefined): void {
  switch (message.kind) {
    case 'connection':
      // Undefined for a client that went away meanwhile.
      if (socket !== undefined) running.server.take(socket)
      return
    case 'announceEnd':
      return running.server.announceEnd()
    case 'reload':
      return void running.server.reload()
    case 'beginUpkeep':
      return running.beginUpkeep()
    case 'learned':
      return running.server.learn(message.learned)
    case 'ask':
      return void answer(running, message)
    case 'drain':
  }
}

async function answer(running: VaultProcess, { question, number }: Extract<ToWorker, { readonly kind: 'ask' }>): Promise<void> {
  const isReady = question === 'ready' && (await running.isReady())
  const metrics = question === 'metrics' ? await running.readMetrics() : []
  say({ kind: 'answer', number, metrics, isReady })
}

function say(message: FromWorker): void {
  // A primary that has died takes nothing.
  process.send?.(message, undefined, undefined, () => {})
}
