/** The edge to web-standard servers: a `Request` becomes a `Response`. For Hono, Next.js, Bun, Deno. */

import { bodyAlreadyRead, bodyTooLong, clientGone, collectBody } from '../body/body-bytes.ts'
import { refusedCoding } from '../router/error-response.ts'
import { type HttpBody, type HttpRequest, type HttpResponse, targetOf } from '../router/http-message.ts'
import type { Router } from '../router/router.ts'

/** Handles a web request. Never rejects. The second argument is a `ConnectionInfo`, or what a framework passes there. */
export type FetchHandler = (request: Request, info?: unknown) => Promise<Response>

/** Returns a handler for web requests. */
export function createFetchHandler(router: Router): FetchHandler {
  return async (request, info) => {
    const refused = request.body === null ? undefined : refusedCoding(request.headers.get('transfer-encoding'))
    return toResponse(refused ?? (await router.respond(toHttpRequest(request, addressOf(request, info)))))
  }
}

function toHttpRequest(request: Request, address: string): HttpRequest {
  const { url } = request
  return {
    method: request.method,
    target: targetOf(url),
    // A request that no server received has its host in the URL alone.
    header: (name) => request.headers.get(name) ?? (name === 'host' ? new URL(url).host : undefined),
    body: fetchBody(request),
    address,
    mountPath: '',
    scheme: url.startsWith('https:') ? 'https' : 'http',
    signal: () => request.signal,
  }
}

function toResponse({ status, headers, body }: HttpResponse): Response {
  if (typeof body === 'object' && !(body instanceof Uint8Array)) return new Response(toStream(body), { status, headers })
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  // That of HEAD has the length of GET.
  const whole = 'content-length' in headers ? headers : { ...headers, 'content-length': String(bytes?.length ?? 0) }
  // The copy has a buffer of its own type, as a response needs it.
  return new Response(bytes === undefined ? null : new Uint8Array(bytes), { status, headers: whole })
}

/** The source is asked for a chunk when the client takes one, and ended when the client goes away. */
function toStream(body: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]()
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await chunks.next()
        if (done === true) controller.close()
        else controller.enqueue(value)
      },
      async cancel() {
        await chunks.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

/** Returns the body; undefined if the request has none. */
function fetchBody(request: Request): HttpBody | undefined {
  const { body } = request
  if (body === null) return undefined
  return {
    async read(maxBytes) {
      if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw bodyTooLong(maxBytes)
      const collected = collectBody(maxBytes)
      for await (const chunk of chunksOf(request, body)) collected.add(chunk)
      return collected.take()
    },
    chunks: () => chunksOf(request, body),
  }
}

async function* chunksOf(request: Request, body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (request.bodyUsed || body.locked) throw bodyAlreadyRead()
  const reader = body.getReader()
  let isWhole = false
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => {
        throw clientGone()
      })
      if (done) {
        isWhole = true
        return
      }
      yield value
    }
  } finally {
    if (!isWhole) reader.cancel().catch(() => {})
  }
}

/** What a server knows of a connection beside the request. */
export interface ConnectionInfo {
  /** IP address of the client, for events. Default: empty. */
  readonly address?: string
}

/** Returns the address; empty if there is none. Known are `ConnectionInfo`, the server of Bun, the info of Deno, and the bindings of @hono/node-server. */
export function addressOf(request: Request, info: unknown): string {
  if (!isObject(info)) return ''
  const candidates = [
    () => info.address,
    () => read(typeof info.requestIP === 'function' ? info.requestIP(request) : undefined, 'address'),
    () => read(info.remoteAddr, 'hostname'),
    () => read(read(info.incoming, 'socket'), 'remoteAddress'),
  ]
  for (const candidate of candidates) {
    const address = candidate()
    // Bindings of a host can have a member of the same name.
    if (typeof address === 'string' && /^(?=.*[.:])[\da-f.:]{2,45}(?:%[\w.-]{1,32})?$/i.test(address)) return address
  }
  return ''
}

function read(from: unknown, name: string): unknown {
  return isObject(from) ? from[name] : undefined
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
