/** The edge to node:http, and to the servers on top of it: Express, Fastify, Koa. */
import type { ServerResponse } from 'node:http'
import type { HttpRequest, HttpResponse } from '../router/http-message.ts'
import type { Router } from '../router/router.ts'
import { nodeBody } from './node-body.ts'
import type { NodeRequest } from './node-request.ts'

/** Handles a request of node:http. The promise resolves when the response is sent, and never rejects. */
export type NodeHandler = (request: NodeRequest, response: ServerResponse) => Promise<void>

/** Returns a handler for node:http. No web `Request` is made on the way. */
export function createNodeHandler(router: Router): NodeHandler {
  return async (request, response) => {
    const client = watchClient(response)
    try {
      await send(response, await router.respond(toHttpRequest(request, client)), client)
    } catch {
      // The response began, so the connection ends: the client sees that the response is not whole.
      response.destroy()
    }
  }
}

/** Whether the client is still there. */
interface Client {
  isGone(): boolean
  signal(): AbortSignal
}

function watchClient(response: ServerResponse): Client {
  let gone = false
  let controller: AbortController | undefined
  response.once('close', () => {
    gone = !response.writableFinished
    if (gone) controller?.abort()
  })
  return {
    isGone: () => gone,
    signal() {
      controller ??= new AbortController()
      if (gone) controller.abort()
      return controller.signal
    },
  }
}

function toHttpRequest(request: NodeRequest, client: Client): HttpRequest {
  const { headers, socket } = request
  return {
    method: request.method ?? 'GET',
    target: request.url ?? '/',
    header(name) {
      const value = headers[name]
      return Array.isArray(value) ? value.join(', ') : value
    },
    body: nodeBody(request),
    address: socket.remoteAddress ?? '',
    mountPath: typeof request.baseUrl === 'string' ? request.baseUrl : '',
    scheme: 'encrypted' in socket && socket.encrypted === true ? 'https' : 'http',
    signal: () => client.signal(),
  }
}

async function send(response: ServerResponse, { status, headers, body }: HttpResponse, client: Client): Promise<void> {
  if (typeof body !== 'object' || body instanceof Uint8Array) {
    const length = body === undefined ? 0 : Buffer.byteLength(body)
    response.writeHead(status, { ...headers, 'content-length': length })
    response.end(body)
    return
  }
  response.writeHead(status, headers)
  for await (const chunk of body) {
    if (client.isGone()) return
    if (!response.write(chunk)) await drained(response)
  }
  response.end()
}

/** Resolves when the response takes more, or when the client is gone. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      response.off('drain', end)
      response.off('close', end)
      resolve()
    }
    response.on('drain', end)
    response.on('close', end)
  })
}
