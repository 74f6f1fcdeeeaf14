/** A router that shows what an edge made of a request, and responds in each way there is. */
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { HttpRequest, HttpResponse } from '../../../src/http/router/http-message.ts'
import type { Router } from '../../../src/http/router/router.ts'
import { isVaultError } from '../../../src/index.ts'

/** What happened in the router. */
export interface EchoRouter extends Router {
  /** What reading a body threw, by code. */
  readonly failures: string[]
  /** Streams that were ended before their end. */
  readonly endedStreams: () => number
  /** Requests whose signal was aborted. */
  readonly aborted: () => number
  /** Bytes read of bodies so far. */
  readonly received: () => number
}

/** The limit of `/read`, in bytes. */
export const ECHO_LIMIT = 100_000
/** The length of `/stream`, in bytes. */
export const STREAM_LENGTH = 5_000_000

/**
 * Returns the router: `/read` reads a body whole and answers its text, `/chunks` chunk by chunk and answers its length, `/stream` answers
 * 5 MB, `/broken` fails after its first chunk, `/wait` answers when its signal is aborted, `/ignore` reads nothing, and any other path answers what the request is.
 */
export function echoRouter(): EchoRouter {
  const failures: string[] = []
  const counts = { endedStreams: 0, aborted: 0, received: 0 }
  const answer = async (request: HttpRequest): Promise<HttpResponse> => {
    switch (request.target.split('?')[0]) {
      case '/read':
        return text(200, new TextDecoder().decode(await request.body?.read(ECHO_LIMIT)))
      case '/chunks': {
        let length = 0
        for await (const chunk of request.body?.chunks() ?? []) {
          length += chunk.length
          counts.received += chunk.length
        }
        return text(200, String(length))
      }
      case '/stream':
        return { status: 200, headers: {}, body: stream(counts) }
      case '/broken':
        return { status: 200, headers: {}, body: broken() }
      case '/wait':
        await new Promise((resolve) => request.signal().addEventListener('abort', resolve))
        counts.aborted++
        return text(200, 'too late')
      case '/ignore':
        return text(401, 'refused')
      default:
        return text(200, JSON.stringify(shown(request)))
    }
  }
  return {
    failures,
    endedStreams: () => counts.endedStreams,
    aborted: () => counts.aborted,
    received: () => counts.received,
    respond: (request) =>
      answer(request).catch((error: unknown) => {
        const code = isVaultError(error) ? error.code : String(error)
        failures.push(code)
        return text(400, code)
      }),
    close: async () => {},
  }
}

function text(status: number, body: string): HttpResponse {
  return { status, headers: { 'content-type': 'text/plain' }, body }
}

function shown({ method, target, mountPath, address, scheme, header, body }: HttpRequest): object {
  const headers = { authorization: header('authorization'), host: header('host'), type: header('content-type'), x: header('x-a') }
  return { method, target, mountPath, address, scheme, headers, hasBody: body !== undefined, parsed: body?.parsed }
}

async function* stream(counts: { endedStreams: number }): AsyncGenerator<Uint8Array> {
  let isWhole = false
  try {
    for (let sent = 0; sent < STREAM_LENGTH; sent += 50_000) {
      yield new Uint8Array(50_000)
      await setImmediate()
    }
    isWhole = true
  } finally {
    if (!isWhole) counts.endedStreams++
  }
}

async function* broken(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(1000)
  await setTimeout(1)
  throw new Error('TEST_SECRET of a storage')
}
