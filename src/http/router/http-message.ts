/** Requests and responses as the router works on them. The edges convert those of a server to them, and back. */

/** A request. */
export interface HttpRequest {
  readonly method: string
  /** Path and query as received, percent-encoded, from the first "/" after the host. */
  readonly target: string
  /** Returns a header by its name in lower case; undefined if it is absent. Several lines are joined by ", ". */
  header(name: string): string | undefined
  /** Undefined if the request has none. */
  readonly body: HttpBody | undefined
  /** IP address of the other end of the connection. Empty if the server does not have it. */
  readonly address: string
  /** Path at which a framework mounted the handler and which it took off `target`. Empty if there is none. */
  readonly mountPath: string
  /** `https` if the connection is encrypted. */
  readonly scheme: 'http' | 'https'
  /** Returns a signal that is aborted when the client goes away before it has the whole response. Made when it is first asked for. */
  signal(): AbortSignal
}

/** The body of a request. It can be read once. */
export interface HttpBody {
  /** What a body parser or the platform made of it; absent if none has read it. Unless that is bytes, the chunks are gone then. */
  readonly parsed?: { readonly value: unknown }
  /** Returns the body, whole. Throws `limit_exceeded` as soon as it is longer than `maxBytes`, and `cancelled` if the client goes away. */
  read(maxBytes: number): Promise<Uint8Array>
  /** Yields the body as it arrives. Throws `cancelled` if the client goes away. */
  chunks(): AsyncIterable<Uint8Array>
}

/** A response. Its header names are in lower case. */
export interface HttpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Chunks are sent as they are made. Undefined for no body. */
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array> | undefined
}

/** Returns the target of a request: path and query of an URL, as received. One in absolute form, as proxies send it, begins with scheme and host. */
export function targetOf(url: string): string {
  if (url.startsWith('/')) return url
  const start = /^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i.exec(url)?.[0].length ?? 0
  const target = url.slice(start).replace(/#.*$/s, '')
  return start > 0 && !target.startsWith('/') ? `/${target}` : target
}
