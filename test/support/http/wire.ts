/** A raw connection to a server of a test: requests go out byte by byte as given, and every byte of the answers is kept. */
import { connect, type Socket } from 'node:net'

/** A request as it is written. Nothing of it is checked or encoded. */
export interface WireRequest {
  readonly method: string
  /** Path and query. */
  readonly target: string
  /** Beside `host` and the length of the body. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | undefined
}

/** An answer as it was read. */
export interface WireAnswer {
  readonly status: number
  /** By name in lower case. */
  readonly headers: ReadonlyMap<string, string>
  /** Status line and headers, one character for each byte. */
  readonly head: string
  /** The body as UTF-8. */
  readonly text: string
  /** The parsed body; undefined if it is no JSON. */
  readonly json: unknown
}

/** A connection that is opened again after the server closed it. Requests are sent one after the other. */
export interface Wire {
  send(request: WireRequest): Promise<WireAnswer>
  /** Writes bytes in place of a request. Rejects if the server closes the connection without an answer. */
  sendBytes(bytes: string | Uint8Array): Promise<WireAnswer>
  close(): void
}

/** Returns a connection to a port of this machine. */
export function openWire(port: number): Wire {
  let socket: Socket | undefined
  const exchange = async (bytes: string | Uint8Array, hasBody: boolean): Promise<WireAnswer> => {
    // An answer can precede the error of a request that the server did not read to its end.
    if (socket === undefined || socket.destroyed) socket = connect({ port, host: '127.0.0.1' }).on('error', () => {})
    const used = socket
    const answer = await exchangeOn(used, bytes, hasBody)
    if (answer.headers.get('connection') === 'close' || used.readableEnded) used.destroy()
    return answer
  }
  return {
    send: (request) => exchange(written(request), request.method !== 'HEAD'),
    sendBytes: (bytes) => exchange(bytes, true),
    close: () => void socket?.destroy(),
  }
}

/** The bytes of a request. */
export function written({ method, target, headers = {}, body }: WireRequest): Buffer {
  const bytes = Buffer.from(body ?? '')
  const isChunked = Object.keys(headers).some((name) => name.toLowerCase() === 'transfer-encoding')
  const length = body === undefined || isChunked ? {} : { 'content-length': String(bytes.length) }
  const lines = Object.entries({ host: 'vault.example', ...length, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.concat([Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`), bytes])
}

function exchangeOn(socket: Socket, bytes: string | Uint8Array, hasBody: boolean): Promise<WireAnswer> {
  return new Promise((resolve, reject) => {
    let read = Buffer.alloc(0)
    const end = (act: () => void): void => {
      socket.off('data', onData).off('end', onEnd).off('close', onEnd)
      act()
    }
    const onData = (chunk: Buffer): void => {
      read = Buffer.concat([read, chunk])
      const answer = toAnswer(read, { hasBody, isEnded: false })
      if (answer !== undefined) end(() => resolve(answer))
    }
    const onEnd = (): void => {
      socket.destroy() // It is half open until then, and no next request may use it.
      const answer = toAnswer(read, { hasBody, isEnded: true })
      end(() => (answer === undefined ? reject(new Error('the connection was closed without an answer')) : resolve(answer)))
    }
    socket.on('data', onData).on('end', onEnd).on('close', onEnd)
    socket.write(bytes)
  })
}

interface Reading {
  readonly hasBody: boolean
  readonly isEnded: boolean
}

/** Returns the answer; undefined while it is not whole. */
function toAnswer(read: Buffer, reading: Reading): WireAnswer | undefined {
  const end = read.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const head = read.subarray(0, end + 4).toString('latin1')
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1])
  const rest = read.subarray(end + 4)
  if (status < 200) return toAnswer(rest, reading)
  const headers = headersOf(head)
  const body = reading.hasBody ? bodyOf(rest, headers, reading.isEnded) : Buffer.alloc(0)
  if (body === undefined) return undefined
  const text = body.toString()
  return { status, headers, head, text, json: parsed(text) }
}

function headersOf(head: string): Map<string, string> {
  const lines = head.split('\r\n').slice(1, -2)
  return new Map(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
}

function bodyOf(rest: Buffer, headers: ReadonlyMap<string, string>, isEnded: boolean): Buffer | undefined {
  const length = headers.get('content-length')
  if (length !== undefined) return rest.length >= Number(length) ? rest.subarray(0, Number(length)) : undefined
  if (headers.get('transfer-encoding') === 'chunked') return joinedChunks(rest)
  return isEnded ? rest : undefined
}

function joinedChunks(rest: Buffer): Buffer | undefined {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const end = rest.indexOf('\r\n', at)
    if (end < 0) return undefined
    const size = Number.parseInt(rest.subarray(at, end).toString(), 16)
    if (rest.length < end + 2 + size + 2) return undefined
    if (size === 0) return Buffer.concat(chunks)
    chunks.push(rest.subarray(end + 2, end + 2 + size))
    at = end + 2 + size + 2
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
