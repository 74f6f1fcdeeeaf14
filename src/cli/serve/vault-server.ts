/** The server of one process: connections, requests, and how it ends without losing one. */
import { createServer, type Server, type ServerOptions } from 'node:http'
import { createServer as createTlsServer, Server as TlsServer } from 'node:https'
import { Server as NetServer, type Socket } from 'node:net'
import {
  type Authenticate,
  answerClientError,
  clientAddressOf,
  createHandler,
  type HandlerOptions,
  toNodeHandler,
} from '../../http/index.ts'
import type { Log } from '../../index.ts'
import type { ServerSettings } from '../config/server-shape.ts'
import { followConnections } from './connections.ts'
import { createCrossOrigin } from './cross-origin.ts'
import { inTime } from './in-time.ts'
import { listen } from './listen.ts'
import { createListener } from './listener.ts'
import { createRefusalLimit, keyIdOf, namesOf, type RefusedNames } from './refusal-limit.ts'
import { errorFields } from './server-log.ts'
import type { ServerMetrics } from './server-metrics.ts'
import { readTlsFiles } from './tls-files.ts'

/** What a server is made of. */
export interface VaultServerParts {
  /** Options of the handler, with the vault. Its log, authenticators and hooks are added to here. */
  readonly handler: HandlerOptions
  readonly server: ServerSettings
  readonly log: Log
  readonly metrics: ServerMetrics
  /** Passes to other workers what this one learned about credentials. */
  share(learned: Learned): void
}

/** What a worker learns about credentials: a refusal, or the id of a key in use. */
export type Learned = { readonly refused: RefusedNames } | { readonly accepted: string }

/** The server of one process. */
export interface VaultServer {
  /** Accepts connections itself. Returns its port. */
  listen(): Promise<number>
  /** Takes a connection that another process accepted. */
  take(socket: Socket): void
  /** Notes what another worker learned. */
  learn(learned: Learned): void
  /** Reads the TLS files again. If that fails, the certificate from before stays, and the log has the reason. */
  reload(): Promise<void>
  /** Says of every answer from now on that its connection ends. Connections are still accepted. */
  announceEnd(): void
  /** Accepts no more connections, and resolves when all have ended, or after `limitMs`. Returns the number of requests that were cut. */
  drain(limitMs: number): Promise<number>
  /** Cuts what there is. Returns the number of requests that were cut. */
  cut(): number
}

/** How often connections are looked at for their time limits, in milliseconds. */
const CHECK_MS = 1000
/** For which a TLS handshake can take, in milliseconds. */
const HANDSHAKE_MS = 10_000

/** Returns a server that accepts nothing yet. Throws a sentence for TLS files that cannot be read, and `invalid_request` for a wrong option of the handler. */
export async function createVaultServer(parts: VaultServerParts): Promise<VaultServer> {
  const { server: settings, log, metrics, share } = parts
  const { tls, limits } = settings
  const limit = createRefusalLimit({ ...limits, now: () => performance.now() })
  const learn = (learned: Learned): void => {
    if ('accepted' in learned) limit.accepted(learned.accepted)
    else report(log, learned.refused, limit.refused(learned.refused))
  }
  const handler = createHandler({
    ...parts.handler,
    log,
    authenticate: [parts.handler.authenticate].flat().map((one) =>
      noting(one, (key) => {
        if (limit.accepted(key)) share({ accepted: key })
      }),
    ),
    onRefused(request) {
      metrics.credentialRefused()
      const refused = namesOf(request)
      learn({ refused })
      share({ refused })
    },
  })
  const listener = createListener({
    handler: toNodeHandler(handler),
    crossOrigin: createCrossOrigin(settings.origins),
    limit,
    addressOf: clientAddressOf(addressOptions(parts.handler)),
    metrics,
    log,
    logsRequests: settings.log.requests,
  })
  const options: ServerOptions = {
    headersTimeout: Math.min(limits.headersMs, limits.requestMs),
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: CHECK_MS,
    // The handler answers these, with an envelope.
    requireHostHeader: false,
  }
  const server =
    tls === undefined
      ? createServer(options, listener)
      : createTlsServer({ ...options, ...(await readTlsFiles(tls)), handshakeTimeout: HANDSHAKE_MS }, listener)
  server.on('checkExpectation', listener).on('clientError', answerClientError).on('connect', answerClientError)
  // Of those that do not read their answer.
  server.timeout = limits.requestMs
  const most = Math.ceil(limits.connections / settings.workers)
  server.maxConnections = most
  server.on('drop', () => metrics.connectionDropped())
  const connections = followConnections(server, tls !== undefined)
  metrics.observeConnections(() => connections.count())
  return {
    async listen() {
      const port = await listen(server, settings, '--port')
      server.on('error', (error) => log.error(errorFields(error), 'connection not accepted'))
      return port
    },
    take: createTake(server, () => {
      if (connections.count() < most) return true
      metrics.connectionDropped()
      return false
    }),
    learn,
    async reload() {
      if (tls === undefined || !(server instanceof TlsServer)) return
      try {
        server.setSecureContext(await readTlsFiles(tls))
        log.info({}, 'TLS files read again')
      } catch (error) {
        log.error(
          { reason: error instanceof Error ? error.message : '' },
          'TLS files not read again: the certificate from before stays',
        )
      }
    },
    announceEnd: () => connections.announceEnd(),
    async drain(limitMs) {
      // That of http.Server ends idle connections at once, at which a client may be sending.
      if (server.listening) NetServer.prototype.close.call(server)
      connections.announceEnd()
      const ended = connections.drained().then(() => 0)
      const cut = (await inTime(ended, limitMs, undefined)) ?? connections.cut()
      await handler.close()
      return cut
    },
    cut: () => connections.cut(),
  }
}

/** Returns an authenticator that notes the keys that it accepts. */
function noting(authenticate: Authenticate, note: (key: string) => void): Authenticate {
  return async (request) => {
    const answer = await authenticate(request)
    const keyId = answer === undefined || 'refused' in answer ? undefined : keyIdOf(request.credential)
    if (keyId !== undefined) note(keyId)
    return answer
  }
}

function report(log: Log, { source, key }: RefusedNames, reached: 'source' | 'key' | undefined): void {
  if (reached === undefined) return
  const which = reached === 'source' ? { source } : { key }
  log.warn(which, 'too many refused credentials: requests are answered 429 for up to a minute')
}

function addressOptions({ trustedProxies, forwardedHeader }: HandlerOptions): Parameters<typeof clientAddressOf>[0] {
  return {
    ...(trustedProxies === undefined ? {} : { trustedProxies }),
    ...(forwardedHeader === undefined ? {} : { forwardedHeader }),
  }
}

function createTake(server: Server, hasPlace: () => boolean): (socket: Socket) => void {
  let isChecking = false
  return (socket) => {
    if (!hasPlace()) return void socket.destroy()
    // Node begins to check the time limits of connections when a server listens, which this one never does.
    if (!isChecking) server.emit('listening')
    isChecking = true
    server.emit('connection', socket)
    socket.resume()
  }
}
