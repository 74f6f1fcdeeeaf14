/** The work of `strongroom serve`: settings from the configuration and the line, and one process or several. */
import cluster from 'node:cluster'
import type { CommandRun, CommandWork } from '../command.ts'
import type { LoadedConfig } from '../config/load-config.ts'
import { type ServerSettings, serverShape } from '../config/server-shape.ts'
import { defined } from '../defined.ts'
import { CommandFailure, EXIT } from '../failure.ts'
import { handlerOptions } from './handler-options.ts'
import { type Addresses, serveAlone } from './serve-alone.ts'
import { servePrimary } from './serve-primary.ts'
import { serveWorker } from './serve-worker.ts'
import type { Serving } from './vault-process.ts'

/** The work of `strongroom serve`. */
export const serve: CommandWork = async (run) => {
  const loaded = await run.loadConfig()
  const server = settingsOf(run, loaded)
  const { id } = loaded.config.vault
  const http = { ...loaded.config.http, ...(run.options.isSet('console') ? { console: true } : {}) }
  const announce = ({ port, healthPort }: Addresses): void => {
    const url = urlOf(server.tls === undefined ? 'http' : 'https', server.host, port)
    const health = urlOf('http', server.health.host, healthPort)
    const page =
      http.console === true ? `${url}${new URL(http.baseUrl ?? '', url).pathname.replace(/\/+$/, '')}/console` : undefined
    run.output.result({ vault: id, url, ...defined({ console: page }), health, workers: server.workers }, () => [
      `Vault ${id}:  ${url}`,
      ...(page === undefined ? [] : [`Console:  ${page}`]),
      `Health:  ${health} (/live, /ready, /metrics)`,
    ])
  }
  if (server.workers > 1 && cluster.isPrimary) return servePrimary(server, announce)
  // Read here, so that a wrong option of the handler shows before the vault is opened.
  const handler = handlerOptions({ ...loaded.config, http })
  const serving: Serving = { server, handler, open: (ports) => run.openVault({ ...ports, serves: true }) }
  return cluster.isPrimary ? serveAlone(serving, announce) : serveWorker(serving)
}

/** Returns the settings of the configuration, with those of the line in place of them. */
function settingsOf({ options }: CommandRun, { config: { server = {} }, pathOf }: LoadedConfig): ServerSettings {
  const [cert, key] = [options.text('tlsCert'), options.text('tlsKey')]
  if ((cert === undefined) !== (key === undefined))
    throw new CommandFailure(EXIT.usage, '--tls-cert and --tls-key must be given together.')
  const ofConfig = server.tls === undefined ? undefined : { cert: pathOf(server.tls.cert), key: pathOf(server.tls.key) }
  const port = { max: 65_535 }
  const origins = options.list('origin')
  const given = {
    ...server,
    ...defined({
      port: options.integer('port', port),
      host: options.text('host'),
      workers: options.integer('workers', { min: 1, max: 64 }),
      startMs: options.integer('startMs', { max: 2 ** 31 - 1 }),
      tls: cert === undefined ? ofConfig : { cert, key },
    }),
    health: {
      ...server.health,
      ...defined({ port: options.integer('healthPort', port), host: options.text('healthHost') }),
    },
    shutdown: { ...server.shutdown, ...defined({ delayMs: options.integer('shutdownDelayMs', { max: 600_000 }) }) },
    ...(origins.length === 0 ? {} : { origins }),
    log: { ...server.log, ...(options.isSet('logRequests') ? { requests: true } : {}) },
  }
  const { data, error } = serverShape.safeParse(given)
  if (data !== undefined) return data
  const [issue] = error.issues
  throw new CommandFailure(EXIT.usage, `${issue?.path.join('.')}: ${issue?.message}`)
}

function urlOf(scheme: string, host: string, port: number): string {
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
}
