/** What happens to a request before and behind the handler: other origins, limits, measures and the log. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { NodeHandler } from '../../http/index.ts'
import type { Log } from '../../index.ts'
import type { CrossOrigin } from './cross-origin.ts'
import type { RefusalLimit } from './refusal-limit.ts'
import type { ServerMetrics } from './server-metrics.ts'

/** What a listener consists of. */
export interface ListenerParts {
  readonly handler: NodeHandler
  readonly crossOrigin: CrossOrigin
  readonly limit: RefusalLimit
  /** Returns the address of the client, behind the trusted proxies. */
  readonly addressOf: (request: IncomingMessage) => string | undefined
  readonly metrics: ServerMetrics
  readonly log: Log
  /** Whether each request leaves a line. */
  readonly logsRequests: boolean
}

/** Returns the listener of a server of node:http. */
export function createListener(parts: ListenerParts): RequestListener {
  const { handler, crossOrigin, limit, addressOf, metrics } = parts
  return (request, response) => {
    const start = performance.now()
    const requestID = parts.logsRequests ? requestIDOf(request) : ''
    response.once('close', () => {
      const status = response.headersSent ? response.statusCode : 0
      const milliseconds = performance.now() - start
      const { method = '' } = request
      metrics.requestEnded({ method, status, seconds: milliseconds / 1000 })
      if (!parts.logsRequests) return
      const whole = response.writableFinished ? {} : { clientGone: true }
      parts.log.info({ requestID, method, status, ms: Math.round(milliseconds * 10) / 10, ...whole }, 'request')
    })
    if (crossOrigin(request, response)) return
    const wait = limit.waitOf(() => ({ address: addressOf(request), credential: credentialOf(request) }))
    if (wait !== undefined) {
      metrics.requestLimited(wait.of)
      answerLimited(response, wait.ms)
    } else void handler(request, response)
  }
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Returns the id under which the handler records a request, and gives it one if it has none. */
function requestIDOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id']
  const requestID = typeof given === 'string' && UUID.test(given) ? given : randomUUID()
  headers['x-request-id'] = requestID
  return requestID
}

function credentialOf({ headers }: IncomingMessage): string | undefined {
  return headers.authorization?.replace(/^bearer +/i, '')
}

/** Answers with the envelope of errors, without a word about which limit it was. */
function answerLimited(response: ServerResponse, milliseconds: number): void {
  const seconds = Math.max(1, Math.ceil(milliseconds / 1000))
  const message = `Too many requests had no valid credential. Send the next one in ${seconds} seconds.`
  const body = { error: { grpc_code: 8, http_code: 429, http_status: 'Too Many Requests', message, details: [] } }
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store', 'retry-after': String(seconds) }
  response.writeHead(429, headers).end(JSON.stringify(body))
}
