/** One process that serves: its vault, its server, and the work that a vault leaves to its host. */
import { setTimeout as pause } from 'node:timers/promises'
import type { MetricObject } from 'prom-client'
import { isVaultError, type Log, type Metrics } from '../../index.ts'
import type { AnyVault } from '../config/any-vault.ts'
import type { ServerSettings } from '../config/server-shape.ts'
import type { ServedHandler } from './handler-options.ts'
import { inTime } from './in-time.ts'
import { createServerLog, endAtDefects, errorFields } from './server-log.ts'
import { createServerMetrics } from './server-metrics.ts'
import { createVaultServer, type Learned, type VaultServer } from './vault-server.ts'

/** What is served, and how. */
export interface Serving {
  readonly server: ServerSettings
  /** Options of the handler but the vault. */
  readonly handler: ServedHandler
  /** Opens the vault as a server does. */
  open(ports: { readonly metrics: Metrics; readonly log: Log }): Promise<AnyVault>
}

/** A process that serves. */
export interface VaultProcess {
  readonly log: Log
  readonly server: VaultServer
  isReady(): Promise<boolean>
  readMetrics(): Promise<MetricObject[]>
  /** Begins the work that one process does for all: it sweeps what has expired. */
  beginUpkeep(): void
  /** Ends what goes on, and closes the vault. */
  close(): Promise<void>
}

/** Between two tries to open a vault, in milliseconds. */
const RETRY_MS = 1000
/** For which the storage can take to answer before the process is not ready, in milliseconds. */
const PING_MS = 2000
/** Rows a second that a sweep removes, so that requests keep up. */
const SWEEP_PACE = 2000

/** Starts a process, unless `end` resolves before: then what is opened meanwhile is closed, and the result is undefined. */
export async function startUnless(
  end: Promise<void>,
  serving: Serving,
  share: (learned: Learned) => void,
): Promise<VaultProcess | undefined> {
  const isOver = new AbortController()
  const started = startVaultProcess(serving, share, isOver.signal)
  const running = await Promise.race([started, end.then(() => undefined)])
  if (running !== undefined) return running
  isOver.abort()
  started.then((late) => late.close()).catch(() => {})
  return undefined
}

/** Opens the vault and makes its server. Throws what opening throws, after `startMs` of tries where storage or keys are away. */
async function startVaultProcess(
  { server: settings, handler, open }: Serving,
  share: (learned: Learned) => void,
  signal: AbortSignal,
): Promise<VaultProcess> {
  const log = createServerLog(settings.log.level)
  endAtDefects(log)
  const metrics = createServerMetrics()
  const vault = await opened(() => open({ metrics: metrics.ofVault, log }), { ...settings, signal, log })
  const upkeep = new AbortController()
  try {
    const server = await createVaultServer({ handler: { ...handler, vaults: vault }, server: settings, log, metrics, share })
    return {
      log,
      server,
      isReady: () =>
        inTime(
          vault.ping().then(() => true),
          PING_MS,
          false,
        ).catch(() => false),
      readMetrics: () => metrics.read(),
      beginUpkeep: () => void (settings.sweepMs > 0 && sweep(vault, settings.sweepMs, { signal: upkeep.signal, log })),
      async close() {
        upkeep.abort()
        await vault.close()
      },
    }
  } catch (error) {
    await vault.close()
    throw error
  }
}

async function opened(
  open: () => Promise<AnyVault>,
  { startMs, signal, log }: { readonly startMs: number; readonly signal: AbortSignal; readonly log: Log },
): Promise<AnyVault> {
  const end = performance.now() + startMs
  for (;;) {
    try {
      return await open()
    } catch (error) {
      if (!isVaultError(error, 'unavailable') || performance.now() + RETRY_MS > end) throw error
      log.warn(errorFields(error), 'vault not opened yet')
    }
    await pause(RETRY_MS, undefined, { signal })
  }
}

/** Sweeps again and again, until the signal is aborted. */
async function sweep(
  vault: AnyVault,
  sweepMs: number,
  { signal, log }: { readonly signal: AbortSignal; readonly log: Log },
): Promise<void> {
  while (!signal.aborted) {
    try {
      await pause(sweepMs, undefined, { signal, ref: false })
      const { expired, held, ...others } = await vault.sweep({ signal, pace: SWEEP_PACE })
      const removed = [...Object.values(expired), ...Object.values(others)].reduce((sum, count) => sum + count, 0)
      if (removed > 0) log.info({ expired, held, ...others }, 'expired data removed')
    } catch (error) {
      if (!signal.aborted) log.error(errorFields(error), 'expired data not removed')
    }
  }
}
