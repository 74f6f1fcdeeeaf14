/** Serves from one process. */
import { setTimeout as pause } from 'node:timers/promises'
import { openHealthServer } from './health-server.ts'
import { metricsText } from './server-metrics.ts'
import { followSignals, type Signals } from './signals.ts'
import { type Serving, startUnless, type VaultProcess } from './vault-process.ts'

/** Where the server is reached. */
export interface Addresses {
  readonly port: number
  readonly healthPort: number
}

/** How the server ended: the exit code of the command. */
export type ServeEnd = 0 | 1 | 130

/** For which a vault can take to close after its last request, in milliseconds. */
export const CLOSE_MS = 10_000

/** Serves until a signal ends it. `announce` is called when requests are accepted. Throws what opening ports, files and the vault throws. */
export async function serveAlone(serving: Serving, announce: (addresses: Addresses) => void): Promise<ServeEnd> {
  const { server: settings } = serving
  let running: VaultProcess | undefined
  let isAccepting = false
  const signals = followSignals(settings.tls === undefined ? undefined : () => void running?.server.reload())
  const health = await openHealthServer(
    {
      isReady: async () => isAccepting && (await running?.isReady()) === true,
      metrics: async () => metricsText(running === undefined ? [] : [await running.readMetrics()]),
    },
    settings.health,
  )
  try {
    running = await startUnless(signals.end, serving, () => {})
    if (running === undefined) return 0
    const port = await running.server.listen()
    isAccepting = true
    running.beginUpkeep()
    announce({ port, healthPort: health.port })
    await signals.end
    isAccepting = false
    return await ending(running, settings.shutdown, signals)
  } finally {
    await Promise.race([running?.close(), pause(CLOSE_MS, undefined, { ref: false })])
    health.close()
  }
}

/** Ends the server without losing a request, or at once at the second signal. */
async function ending(
  { server, log }: VaultProcess,
  { delayMs, limitMs }: Serving['server']['shutdown'],
  signals: Signals,
): Promise<ServeEnd> {
  log.info({}, 'ending')
  const now = signals.endNow.then(() => 'now' as const)
  if (delayMs > 0) {
    server.announceEnd()
    await Promise.race([pause(delayMs), now])
  }
  const cut = await Promise.race([server.drain(limitMs), now])
  if (cut === 'now') {
    log.warn({ requests: server.cut() }, 'ended at once: requests were cut')
    return 130
  }
  if (cut > 0) log.error({ requests: cut }, 'ended at the time limit: requests were cut')
  return cut > 0 ? 1 : 0
}
