/** Requests of node:http as frameworks extend them: their headers, and their bodies. */
import type { IncomingMessage } from 'node:http'
import { bodyAlreadyParsed, bodyAlreadyRead, bodyTooLong, clientGone, collectBody } from '../body/body-bytes.ts'
import type { HttpBody } from '../router/http-message.ts'

/** A request of node:http, or of the same interface over HTTP/2, as frameworks extend it. */
export interface NodeRequest extends IncomingMessage {
  /** What a body parser made of the body. */
  readonly body?: unknown
  /** The bytes of a body that a parser has read. */
  readonly rawBody?: unknown
  /** The path that Express took off `url`. */
  readonly baseUrl?: string
}

/** Headers of which Node returns the first line and drops the others. */
const FIRST_LINE_ONLY: ReadonlySet<string> = new Set(['authorization', 'content-type', 'host'])

/** Returns a header; several lines of it are joined. Two credentials are no credential, whichever of them a proxy has read. */
export function headerOf(request: NodeRequest, name: string): string | undefined {
  const value = request.headers[name]
  if (value === undefined) return name === 'host' ? authorityOf(request) : undefined
  if (Array.isArray(value)) return value.join(', ')
  return FIRST_LINE_ONLY.has(name) ? joinedLines(request, name) || value : value
}

/** HTTP/2 has the host in a header of its own. */
function authorityOf({ headers }: NodeRequest): string | undefined {
  const authority = headers[':authority']
  return typeof authority === 'string' ? authority : undefined
}

/** Returns all lines of a header; undefined if there is none. Nearly all headers have one, of which no list is made. */
function joinedLines({ rawHeaders }: NodeRequest, name: string): string | undefined {
  let joined: string | undefined
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const given = rawHeaders[index]
    const value = rawHeaders[index + 1]
    if (given?.length === name.length && value !== undefined && given.toLowerCase() === name) {
      joined = joined === undefined ? value : `${joined}, ${value}`
    }
  }
  return joined
}

/** True if the request has a body. HTTP/2 needs no header for one. */
export function hasBody(request: NodeRequest): boolean {
  const { headers } = request
  if (headers['transfer-encoding'] !== undefined) return true
  const length = headers['content-length']
  if (length !== undefined) return length !== '0'
  return request.httpVersionMajor >= 2 && !endsAfterHeaders(request)
}

function endsAfterHeaders(request: NodeRequest): boolean {
  const stream: unknown = Reflect.get(request, 'stream')
  return typeof stream === 'object' && stream !== null && Reflect.get(stream, 'endAfterHeaders') === true
}

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
    const onEnd = (): void => end(() => resolve(collected.take()))
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
