/** The edge to node:http, and to the servers on top of it: Express, Fastify, Koa. */
import type { ServerResponse } from 'node:http'
import { readOptions } from '../../core/util/options.ts'
import { refusedCoding, refusedResponse } from '../router/error-response.ts'
import { type HttpRequest, type HttpResponse, targetOf } from '../router/http-message.ts'
import { type AddressOptions, createAddressReader } from '../router/request-context.ts'
import type { Router } from '../router/router.ts'
import { headerOf, type NodeRequest, nodeBody } from './node-request.ts'

/** Handles a request of node:http. The promise resolves when the response is sent, and never rejects. */
export type NodeHandler = (request: NodeRequest, response: ServerResponse) => Promise<void>

/** Returns a handler for node:http. No web `Request` is made on the way. */
export function createNodeHandler(router: Router): NodeHandler {
  return async (request, response) => {
    const client = watchClient(response)
    try {
      const answered = malformed(request) ?? (await router.respond(toHttpRequest(request, client)))
      const sending = send({ request, response, client }, answered)
      if (sending !== undefined) await sending
    } catch {
      // The response began, so the connection ends: the client sees that the response is not whole.
      response.destroy()
    }
  }
}

/** Returns the refusal of a request that HTTP/1.1 does not allow, or whose body no one here decodes; undefined for all others. */
function malformed({ httpVersion, headers }: NodeRequest): HttpResponse | undefined {
  // By default Node answers it itself, without an envelope.
  if (httpVersion === '1.1' && headers.host === undefined)
    return refusedResponse('invalid_request', 'The Host header is missing. Send it.')
  return refusedCoding(headers['transfer-encoding'])
}

/**
 * Returns a function that finds the address of the client of a request as events have it, for limits in front of the handler; undefined for a connection
 * that has none. Give it the `trustedProxies` and `forwardedHeader` of the handler. Throws `invalid_request` for a wrong option.
 */
export function clientAddressOf(options: AddressOptions = {}): (request: NodeRequest) => string | undefined {
  const known = ['trustedProxies', 'forwardedHeader'] as const
  const addressOf = createAddressReader(readOptions(options, known, { of: 'clientAddressOf' }))
  return (request) => addressOf({ address: request.socket.remoteAddress ?? '', header: (name) => headerOf(request, name) })
}

/** Whether the client is still there. */
interface Client {
  isGone(): boolean
  signal(): AbortSignal
}

function watchClient(response: ServerResponse): Client {
  let gone = response.destroyed
  let controller: AbortController | undefined
  response.on('close', () => {
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
  const { socket } = request
  return {
    method: request.method ?? 'GET',
    target: targetOf(request.url ?? '/'),
    header: (name) => headerOf(request, name),
    body: nodeBody(request),
    address: socket.remoteAddress ?? '',
    mountPath: typeof request.baseUrl === 'string' ? request.baseUrl : '',
    scheme: 'encrypted' in socket && socket.encrypted === true ? 'https' : 'http',
    signal: () => client.signal(),
  }
}

/** A request that is answered. */
interface Exchange {
  readonly request: NodeRequest
  readonly response: ServerResponse
  readonly client: Client
}

/** Sends a response. Returns a promise where it takes longer than the call: for chunks, and where the client still sends. */
function send(exchange: Exchange, answered: HttpResponse): Promise<void> | undefined {
  const { request, response, client } = exchange
  const { status, headers, body } = answered
  const isUnread = hasUnreadBody(request) && !client.isGone()
  const sent = isUnread ? { ...headers, connection: 'close' } : headers
  if (typeof body === 'object' && !(body instanceof Uint8Array))
    return sendChunks(exchange, body, () => response.writeHead(status, sent))
  const length = body === undefined ? 0 : Buffer.byteLength(body)
  // That of HEAD has the length of GET.
  response.writeHead(status, 'content-length' in sent ? sent : { ...sent, 'content-length': length })
  if (!isUnread) {
    response.end(body)
    return undefined
  }
  if (body !== undefined) response.write(body)
  return drainRequest(request).then(() => void response.end())
}

/** Sends chunks as they are made, no faster than the client takes them. `begin` sends the head. */
async function sendChunks({ response, client }: Exchange, chunks: AsyncIterable<Uint8Array>, begin: () => void): Promise<void> {
  let isBegun = false
  let drained: (() => Promise<void>) | undefined
  for await (const chunk of chunks) {
    if (client.isGone()) return
    // In the loop, so that the source ends if the host has answered meanwhile.
    if (!isBegun) begin()
    isBegun = true
    if (response.write(chunk)) continue
    drained ??= waiterOf(response)
    await drained()
  }
  if (!isBegun) begin()
  response.end()
}

/** Bytes of a body that Node receives and drops, so that the connection can serve the next request. */
const MAX_DROPPED_BYTES = 65_536

/** True if more is still to come of the body than it is worth to keep the connection for. HTTP/2 ends single streams. */
function hasUnreadBody(request: NodeRequest): boolean {
  if (request.complete || request.httpVersionMajor >= 2) return false
  return !(Number(request.headers['content-length']) <= MAX_DROPPED_BYTES)
}

/**
 * Returns a function that resolves when the response takes more, or when the client is gone. It listens once for all chunks: middleware that compresses
 * hands listeners on to a stream of its own, from which `off` removes none.
 */
function waiterOf(response: ServerResponse): () => Promise<void> {
  let resume = (): void => {}
  const onEvent = (): void => resume()
  response.on('drain', onEvent)
  response.on('close', onEvent)
  return () =>
    new Promise((resolve) => {
      resume = resolve
    })
}

/** Bytes and time for which a client may go on sending after it was answered. */
const MAX_DRAIN_BYTES = 64 * 1024 * 1024
const MAX_DRAIN_MS = 5000

/** Drops what the client still sends. Resolves at the end of the body, when the client ends the connection, or after 64 MiB or 5 seconds. */
function drainRequest(request: NodeRequest): Promise<void> {
  return new Promise((resolve) => {
    let length = 0
    const timer = setTimeout(() => end(), MAX_DRAIN_MS)
    timer.unref()
    const onData = (chunk: Uint8Array | string): void => {
      length += chunk.length
      if (length > MAX_DRAIN_BYTES) end()
    }
    const end = (): void => {
      clearTimeout(timer)
      request.off('data', onData).off('end', end).off('error', end).off('close', end)
      resolve()
    }
    if (request.destroyed || request.readableEnded) return end()
    request.on('data', onData).on('end', end).on('error', end).on('close', end)
    request.resume()
  })
}
