/** The edge to web-standard servers: a `Request` becomes a `Response`. For Hono, Next.js, Bun, Deno. */
import type { HttpRequest, HttpResponse } from '../router/http-message.ts'
import type { Router } from '../router/router.ts'
import { addressOf } from './connection-info.ts'
import { fetchBody } from './fetch-body.ts'
import { refusedCoding } from './refused-response.ts'
import { targetOf } from './target-of.ts'

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
