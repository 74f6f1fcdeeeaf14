/** The edge to web-standard servers: a `Request` becomes a `Response`. For Hono, Next.js, Bun, Deno. */
import { bodyTooLong, clientGone } from '../body/body-errors.ts'
import type { HttpBody, HttpRequest, HttpResponse } from '../router/http-message.ts'
import type { Router } from '../router/router.ts'

/** What a server knows of a connection beside the request. */
export interface ConnectionInfo {
  /** IP address of the client, for events. Default: empty. */
  readonly address?: string
}

/** Handles a web request. Never rejects. Further arguments of a framework are ignored. */
export type FetchHandler = (request: Request, info?: unknown) => Promise<Response>

/** Returns a handler for web requests. */
export function createFetchHandler(router: Router): FetchHandler {
  return async (request, info) => toResponse(await router.respond(toHttpRequest(request, addressIn(info))))
}

function addressIn(info: unknown): string {
  const address: unknown = typeof info === 'object' && info !== null && 'address' in info ? info.address : undefined
  return typeof address === 'string' ? address : ''
}

function toHttpRequest(request: Request, address: string): HttpRequest {
  const { url } = request
  const start = url.indexOf('/', url.indexOf('://') + 3)
  return {
    method: request.method,
    target: start < 0 ? '/' : url.slice(start).replace(/#.*$/s, ''),
    header: (name) => request.headers.get(name) ?? undefined,
    body: request.body === null ? undefined : webBody(request, request.body),
    address,
    mountPath: '',
    scheme: url.startsWith('https:') ? 'https' : 'http',
    signal: () => request.signal,
  }
}

function webBody(request: Request, stream: ReadableStream<Uint8Array>): HttpBody {
  return {
    async read(maxBytes) {
      if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw bodyTooLong(maxBytes)
      const chunks: Uint8Array[] = []
      let length = 0
      for await (const chunk of chunksOf(stream)) {
        length += chunk.length
        if (length > maxBytes) throw bodyTooLong(maxBytes)
        chunks.push(chunk)
      }
      return joined(chunks, length)
    },
    chunks: () => chunksOf(stream),
  }
}

async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader()
  let isDone = false
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => {
        throw clientGone()
      })
      if (done) {
        isDone = true
        return
      }
      yield value
    }
  } finally {
    if (!isDone) reader.cancel().catch(() => {})
  }
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = chunks
  if (chunks.length === 1 && first !== undefined) return first
  const all = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.length
  }
  return all
}

function toResponse({ status, headers, body }: HttpResponse): Response {
  if (body === undefined || typeof body === 'string') return new Response(body ?? null, { status, headers })
  if (body instanceof Uint8Array) return new Response(new Uint8Array(body), { status, headers })
  return new Response(toStream(body), { status, headers })
}

function toStream(body: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    },
    async cancel() {
      await chunks.return?.()
    },
  })
}
