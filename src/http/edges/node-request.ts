/** Requests of node:http as frameworks extend them. */
import type { IncomingMessage } from 'node:http'

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
