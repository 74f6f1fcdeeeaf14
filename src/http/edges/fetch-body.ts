/** The body of a web request. */
import { bodyAlreadyRead, bodyTooLong, clientGone } from '../body/body-errors.ts'
import type { HttpBody } from '../router/http-message.ts'
import { collectBody } from './collect-body.ts'

/** Returns the body; undefined if the request has none. */
export function fetchBody(request: Request): HttpBody | undefined {
  const { body } = request
  if (body === null) return undefined
  return {
    async read(maxBytes) {
      if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw bodyTooLong(maxBytes)
      const collected = collectBody(maxBytes)
      for await (const chunk of chunksOf(request, body)) collected.add(chunk)
      return collected.bytes()
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
