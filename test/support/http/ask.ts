/** Sends one request to a server of a test, and reads the whole response. Nothing is normalized: paths, methods and headers go out as given. */
import { type IncomingHttpHeaders, request } from 'node:http'

/** What a request consists of beside method and path. */
export interface AskOptions {
  /** Text and bytes are sent as they are, anything else as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** The credential of the request; `null` for none. Default: that of the owner. */
  readonly credential?: string | null
}

/** A response. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  readonly text: string
  /** The parsed body; undefined if it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read members of any response, and compare them.
  readonly json: any
}

/** The credentials that `testCredentials` accepts. */
export const OWNER_CREDENTIAL = 'TEST_SECRET-owner'
export const CLERK_CREDENTIAL = 'TEST_SECRET-clerk'

/** Sends a request to a port of this machine. Rejects if the connection ends before the response is whole. */
export function ask(port: number, [method, path]: readonly [string, string], options: AskOptions = {}): Promise<Answer> {
  const { body, credential = OWNER_CREDENTIAL } = options
  const isRaw = body === undefined || typeof body === 'string' || body instanceof Uint8Array
  const sent = isRaw ? body : JSON.stringify(body)
  const headers = {
    ...(credential === null ? {} : { authorization: `Bearer ${credential}` }),
    ...(isRaw ? {} : { 'content-type': 'application/json' }),
    ...(sent === undefined ? {} : { 'content-length': Buffer.byteLength(sent) }),
    ...options.headers,
  }
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, method, path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => resolve(toAnswer(response.statusCode ?? 0, response.headers, Buffer.concat(chunks))))
    })
    outgoing.on('error', reject)
    outgoing.end(sent)
  })
}

function toAnswer(status: number, headers: IncomingHttpHeaders, bytes: Buffer): Answer {
  const text = bytes.toString()
  return { status, headers, bytes, text, json: parsed(text) }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
