/** Requests as an edge would make them, for the readers of bodies. */

import type { HttpRequest } from '../../../src/http/router/http-message.ts'
import { VaultError } from '../../../src/index.ts'

/** What a request of a test has. */
interface GivenRequest {
  readonly headers?: Readonly<Record<string, string>>
  /** Text, bytes, or pieces as they arrive. Absent: no body. */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>
  readonly parsed?: unknown
}

/** Returns a request. */
export function requestOf(given: GivenRequest): HttpRequest {
  const { headers = {}, body } = given
  const hasBody = body !== undefined || 'parsed' in given
  return {
    method: 'POST',
    target: '/',
    header: (name) => headers[name],
    address: '',
    mountPath: '',
    scheme: 'http',
    signal: () => new AbortController().signal,
    body: hasBody
      ? {
          ...('parsed' in given ? { parsed: { value: given.parsed } } : {}),
          chunks: () => piecesOf(body ?? ''),
          read: (maxBytes) => readAll(piecesOf(body ?? ''), maxBytes),
        }
      : undefined,
  }
}

/** Returns bytes in pieces of a length. */
export async function* cut(bytes: Uint8Array, length: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += length) yield bytes.subarray(start, start + length)
}

/** Returns UTF-8. */
export function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

/** Returns the code and the message of the error that something throws. */
export async function refusalOf(work: () => Promise<unknown>): Promise<{ readonly code: string; readonly message: string }> {
  try {
    await work()
  } catch (error) {
    if (error instanceof VaultError) return { code: error.code, message: error.message }
    throw error
  }
  throw new Error('Nothing was thrown.')
}

async function* piecesOf(body: string | Uint8Array | AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (typeof body === 'string') yield utf8(body)
  else if (body instanceof Uint8Array) yield body
  else yield* body
}

async function readAll(pieces: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const all: Uint8Array[] = []
  let length = 0
  for await (const piece of pieces) {
    length += piece.length
    if (length > maxBytes) throw new VaultError('limit_exceeded', `The body is longer than ${maxBytes} bytes.`)
    all.push(piece)
  }
  return Buffer.concat(all)
}
