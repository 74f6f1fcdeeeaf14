/** The body of a request of node:http. */
import { bodyTooLong, clientGone } from '../body/body-errors.ts'
import type { HttpBody } from '../router/http-message.ts'
import type { NodeRequest } from './node-request.ts'

/** Returns the body; undefined if the request has none. A body that a parser of the host has read is taken from there. */
export function nodeBody(request: NodeRequest): HttpBody | undefined {
  const { headers, body } = request
  const isRead = request.readableEnded || request.readableDidRead
  if (isRead && body !== undefined) return readBody(body)
  if (headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0') return undefined
  return {
    read: (maxBytes) => readAll(request, maxBytes),
    chunks: () => chunksOf(request),
  }
}

/** Returns a body that a parser of the host has read: bytes and text as they are, anything else as parsed. */
function readBody(body: unknown): HttpBody {
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  if (!(bytes instanceof Uint8Array)) return { parsed: { value: body }, ...bodyOfBytes(new Uint8Array()) }
  return bodyOfBytes(bytes)
}

function bodyOfBytes(bytes: Uint8Array): HttpBody {
  return {
    async read(maxBytes) {
      if (bytes.length > maxBytes) throw bodyTooLong(maxBytes)
      return bytes
    },
    async *chunks() {
      yield bytes
    },
  }
}

function readAll(request: NodeRequest, maxBytes: number): Promise<Uint8Array> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return Promise.reject(bodyTooLong(maxBytes))
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = []
    let length = 0
    const end = (act: () => void): void => {
      request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone)
      act()
    }
    const onData = (chunk: Uint8Array): void => {
      length += chunk.length
      if (length > maxBytes) end(() => reject(bodyTooLong(maxBytes)))
      else chunks.push(chunk)
    }
    const onEnd = (): void =>
      end(() => resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)))
    const onGone = (): void => end(() => reject(clientGone()))
    if (request.destroyed) return onGone()
    request.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone)
  })
}

async function* chunksOf(request: NodeRequest): AsyncGenerator<Uint8Array> {
  try {
    // The response still has to be sent on this connection when the reader leaves early.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) yield chunk
  } catch {
    throw clientGone()
  }
}
