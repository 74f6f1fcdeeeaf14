/** The body of a request of node:http. */
import { bodyAlreadyRead, bodyTooLong, clientGone } from '../body/body-errors.ts'
import type { HttpBody } from '../router/http-message.ts'
import { collectBody } from './collect-body.ts'
import { hasBody, type NodeRequest } from './node-request.ts'

/** Returns the body; undefined if the request has none. A body that a parser of the host has read is taken from there. */
export function nodeBody(request: NodeRequest): HttpBody | undefined {
  if (!hasBody(request)) return undefined
  if (request.readableDidRead || request.readableEnded) return passedOn(request)
  return {
    read: (maxBytes) => readAll(request, maxBytes),
    chunks: () => chunksOf(request),
  }
}

/** Returns the body that the host has read. Bytes come before what a parser made of them. */
function passedOn({ body, rawBody }: NodeRequest): HttpBody {
  const value = rawBody instanceof Uint8Array ? rawBody : body
  if (value === undefined) return { read: () => Promise.reject(bodyAlreadyRead()), chunks: () => failing(bodyAlreadyRead()) }
  const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value
  if (!(bytes instanceof Uint8Array))
    return { parsed: { value }, read: () => Promise.reject(bodyAlreadyRead()), chunks: () => failing(bodyAlreadyRead()) }
  return {
    parsed: { value },
    async read(maxBytes) {
      if (bytes.length > maxBytes) throw bodyTooLong(maxBytes)
      return bytes
    },
    async *chunks() {
      yield bytes
    },
  }
}

// biome-ignore lint/correctness/useYield: it fails before the first chunk.
async function* failing(error: Error): AsyncGenerator<Uint8Array> {
  throw error
}

/** Ends at the byte over the limit. The connection stays, so that the response can be sent on it. */
function readAll(request: NodeRequest, maxBytes: number): Promise<Uint8Array> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return Promise.reject(bodyTooLong(maxBytes))
  return new Promise((resolve, reject) => {
    const collected = collectBody(maxBytes)
    const end = (act: () => void): void => {
      request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone)
      act()
    }
    const onData = (chunk: Uint8Array | string): void => {
      try {
        collected.add(toBytes(request, chunk))
      } catch (error) {
        request.pause()
        end(() => reject(error))
      }
    }
    const onEnd = (): void => end(() => resolve(collected.bytes()))
    const onGone = (): void => end(() => reject(clientGone()))
    if (request.destroyed) return onGone()
    request.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone)
    // A middleware of the host can have paused it.
    request.resume()
  })
}

async function* chunksOf(request: NodeRequest): AsyncGenerator<Uint8Array> {
  const chunks = request.iterator({ destroyOnReturn: false })
  // Errors of the reader are not those of the client.
  let isReading = true
  try {
    for await (const chunk of chunks) {
      isReading = false
      yield toBytes(request, chunk)
      isReading = true
    }
  } catch (error) {
    throw isReading ? clientGone() : error
  }
  // A connection that ends early can look like the end of the body.
  if (!request.complete) throw clientGone()
}

/** A middleware of the host can have set an encoding. */
function toBytes(request: NodeRequest, chunk: Uint8Array | string): Uint8Array {
  return typeof chunk === 'string' ? Buffer.from(chunk, request.readableEncoding ?? 'utf8') : chunk
}
