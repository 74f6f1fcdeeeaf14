/** The port of operators: whether the process lives, whether it serves, and its metrics. It answers nothing of the vault. */
import { createServer, type ServerResponse } from 'node:http'
import { listen, type Place } from './listen.ts'

/** What the port answers with. */
export interface Health {
  /** Whether requests are accepted and the storage answers. */
  isReady(): Promise<boolean>
  metrics(): Promise<{ readonly type: string; readonly text: string }>
}

/** A port that answers. */
export interface HealthServer {
  readonly port: number
  close(): void
}

/** Scrapers and probes are few. */
const MAX_CONNECTIONS = 64
/** For which a request, or an idle connection, is waited for, in milliseconds. */
const WAIT_MS = 5000
/** How often connections are looked at for that, in milliseconds: by default it is every 30 seconds. */
const CHECK_MS = 1000

/** Opens the port: `/live` and `/ready` answer 200 or 503, `/metrics` the text of Prometheus. */
export async function openHealthServer(health: Health, place: Place): Promise<HealthServer> {
  const limits = {
    headersTimeout: WAIT_MS,
    requestTimeout: WAIT_MS,
    keepAliveTimeout: WAIT_MS,
    connectionsCheckingInterval: CHECK_MS,
  }
  const server = createServer(limits, ({ method, url }, response) => {
    if (method !== 'GET' && method !== 'HEAD') answer(response, 405)
    else if (url === '/live') answer(response, 200)
    else if (url === '/ready')
      health.isReady().then(
        (isReady) => answer(response, isReady ? 200 : 503),
        () => answer(response, 503),
      )
    else if (url === '/metrics')
      health.metrics().then(
        ({ type, text }) => answer(response, 200, type, text),
        () => answer(response, 503),
      )
    else answer(response, 404)
  })
  server.maxConnections = MAX_CONNECTIONS
  return {
    port: await listen(server, place, '--health-port'),
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

const WORDS: Readonly<Record<number, string>> = {
  200: 'ok\n',
  404: 'There are /live, /ready and /metrics.\n',
  503: 'not ready\n',
}

function answer(response: ServerResponse, status: number, type = 'text/plain', text = WORDS[status] ?? ''): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(text)
}
