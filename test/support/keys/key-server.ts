/** A key service of the tests over HTTP. What differs between services is the wire format: it is passed. It fails on demand. */
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { TLSSocket } from 'node:tls'
import type { KeyServiceControl, KeyServiceFault } from '../../../src/conformance/keys/index.ts'
import { listen, stop } from '../http/serve-vault.ts'
import { createServedKeys, KeyRefusal, type RefusalReason, type ServedKeys } from './served-keys.ts'

/** The text of every error of the services, which no error of a provider repeats. */
export const SERVICE_TEXT = 'SERVICE_TEXT'

/** A request as the service has read it. */
export interface KeyRequest {
  readonly method: string
  /** The path without the query, decoded. */
  readonly path: string
  readonly headers: IncomingMessage['headers']
  /** The body, parsed; empty if there is none. */
  readonly body: Readonly<Record<string, unknown>>
}

/** An answer as it is sent. */
interface Sent {
  readonly status: number
  readonly body: object
}

/** How a service speaks. */
export interface WireFormat {
  /** Returns the answer, which is sent as JSON. Throws a `KeyRefusal`. */
  answer(request: KeyRequest, keys: ServedKeys): object
  /** Returns how an error is sent. */
  error(reason: RefusalReason | 'throttled' | 'failing'): Sent
  readonly contentType?: string
}

export interface KeyServer extends Required<KeyServiceControl> {
  readonly port: number
  /** Disables the keys before the current one, as an operator does after `rewrapKeys`. */
  disableOlder(): Promise<void>
  /** Has a new key from now on, no requests, and no fault. */
  renew(): void
  /** The requests since then. */
  requests(): readonly KeyRequest[]
  /** Changes each answer before it is sent. Undefined ends it. */
  changeAnswers(change: ((answer: object) => object) | undefined): void
  /** Answers each request so. Undefined ends it. */
  answerWith(answer: Sent | undefined): void
  close(): Promise<void>
}

const SLOW_MS = 100

/** Starts a service with a new key. `create` makes the server: by default one of HTTP. */
export async function startKeyServer(
  format: WireFormat,
  create: (handle: RequestListener) => Server = createServer,
): Promise<KeyServer> {
  let keys = createServedKeys()
  let requests: KeyRequest[] = []
  let failing: { readonly fault: KeyServiceFault; calls: number } | undefined
  let change: ((answer: object) => object) | undefined
  let fixed: Sent | undefined
  const nextFault = () => (failing !== undefined && failing.calls-- > 0 ? failing.fault : undefined)
  const send = (response: ServerResponse, { status, body }: Sent) => {
    response.writeHead(status, { 'content-type': format.contentType ?? 'application/json' }).end(JSON.stringify(body))
  }
  const refuse = (response: ServerResponse, reason: RefusalReason | 'throttled' | 'failing') => {
    send(response, format.error(reason))
  }
  const answer = (response: ServerResponse, request: KeyRequest) => {
    try {
      const answered = format.answer(request, keys)
      send(response, { status: 200, body: change?.(answered) ?? answered })
    } catch (error) {
      if (!(error instanceof KeyRefusal)) throw error
      refuse(response, error.reason)
    }
  }
  const server = create(async (incoming, response) => {
    const { method = '', url = '', headers } = incoming
    const body = await text(incoming)
    const path = decodeURIComponent(new URL(url, 'http://keys').pathname)
    const request = { method, path, headers, body: body === '' ? {} : JSON.parse(body) }
    requests.push(request)
    if (fixed !== undefined) return send(response, fixed)
    const fault = nextFault()
    if (fault === 'hanging') return
    if (fault === 'reset') return void end(incoming.socket)
    if (fault === 'throttled' || fault === 'failing') return refuse(response, fault)
    if (fault === 'slow') return void setTimeout(answer, SLOW_MS, response, request)
    answer(response, request)
  })
  const port = await listen(server)
  return {
    port,
    renew() {
      keys = createServedKeys()
      requests = []
      failing = undefined
      change = undefined
      fixed = undefined
    },
    requests: () => requests,
    answerWith(answered) {
      fixed = answered
    },
    changeAnswers(changed) {
      change = changed
    },
    async rotate() {
      keys.rotate()
    },
    async disable() {
      keys.setEnabled(false)
    },
    async enable() {
      keys.setEnabled(true)
    },
    async disableOlder() {
      keys.disableOlder()
    },
    async withdraw() {
      keys.withdraw()
    },
    async fail(fault, calls = Number.POSITIVE_INFINITY) {
      failing = fault === undefined ? undefined : { fault, calls }
    },
    calls: () => requests.length,
    close: () => stop(server),
  }
}

/** Ends a connection without an answer: by a reset, where there is no TLS on it. */
function end(socket: Socket): void {
  if (socket instanceof TLSSocket) socket.destroy()
  else socket.resetAndDestroy()
}

/** Returns the bytes of a member of a body in base64. */
export function bytesOf(member: unknown): Buffer {
  return Buffer.from(String(member ?? ''), 'base64')
}
