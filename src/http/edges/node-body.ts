/** The body of a request of node:http. */
import { bodyAlreadyParsed, bodyAlreadyRead, bodyTooLong, clientGone } from '../body/body-errors.ts'
import type { HttpBody } from '../router/http-message.ts'
import { collectBody } from './collect-body.ts'
import { hasBody, type NodeRequest } from './node-request.ts'

/** Returns the body; undefined if the request has none. One that a parser of the host or the platform has read is taken from there. */
export function nodeBody(request: NodeRequest): HttpBody | undefined {
  const bytes = bytesOf(request)
  if (bytes !== undefined) return bytes.length === 0 ? undefined : passedBytes(bytes)
  if (!hasBody(request)) return undefined
  if (request.readableDidRead || request.readableEnded) return passedOn(textOf(request) ?? memberOf(request, 'body'))
  return {
    read: (maxBytes) => readAll(request, maxBytes),
    chunks: () => chunksOf(request),
  }
}

/** Returns the bytes that were read before, also by a platform that leaves nothing to the stream. They come before what a parser made of them. */
function bytesOf(request: NodeRequest): Uint8Array | undefined {
  const rawBody = memberOf(request, 'rawBody')
  if (rawBody instanceof Uint8Array) return rawBody
  const body = memberOf(request, 'body')
  return body instanceof Uint8Array ? body : undefined
}

/** Returns the text that was read before: it has the digits of long numbers, which a parser of JSON has lost. */
function textOf(request: NodeRequest): string | undefined {
  const rawBody = memberOf(request, 'rawBody')
  return typeof rawBody === 'string' && rawBody !== '' ? rawBody : undefined
}

/** Returns a member that the host has set; undefined where its getter throws, as some do for a body that is not JSON. */
function memberOf(request: NodeRequest, name: 'rawBody' | 'body'): unknown {
  try {
    return request[name]
  } catch {
    return undefined
  }
}

/** Returns the body of which a parser of the host has left no bytes. */
function passedOn(value: unknown): HttpBody {
  const error = value === undefined ? bodyAlreadyRead() : bodyAlreadyParsed()
  const gone = { read: () => Promise.reject(error), chunks: () => failing(error) }
  return value === undefined ? gone : { parsed: { value }, ...gone }
}

function passedBytes(bytes: Uint8Array): HttpBody {
  return {
    parsed: { value: bytes },
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
