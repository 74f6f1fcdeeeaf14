/** A TCP connection that a test writes to byte by byte, for what no HTTP client sends. */
import { connect, type Socket } from 'node:net'

/** A connection. */
export interface RawConnection {
  readonly socket: Socket
  send(text: string | Uint8Array): void
  /** Resolves with all that was received, when it holds the text; rejects if the connection ends before. */
  until(text: string | RegExp): Promise<string>
  /** Resolves with all that was received, when the server ends the connection. */
  untilEnd(): Promise<string>
  /** Ends the connection without a good-bye. */
  reset(): void
}

/** Opens a connection to a port of this machine. */
export async function openRaw(port: number): Promise<RawConnection> {
  const socket = connect({ port, host: '127.0.0.1' })
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  let received = ''
  let hasEnded = false
  const waiting = new Set<() => void>()
  const wake = (): void => {
    for (const check of waiting) check()
  }
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1')
    wake()
  })
  socket.on('error', () => {})
  const ended = (): void => {
    hasEnded = true
    wake()
  }
  socket.on('end', ended).on('close', ended)
  const waitFor = (isReached: () => boolean): Promise<string> =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        const isThere = isReached()
        if (!isThere && !hasEnded) return
        waiting.delete(check)
        if (isThere) resolve(received)
        else reject(new Error(`The connection ended after ${JSON.stringify(received.slice(0, 500))}`))
      }
      waiting.add(check)
      check()
    })
  return {
    socket,
    send: (text) => void socket.write(text),
    until: (text) => waitFor(() => (typeof text === 'string' ? received.includes(text) : text.test(received))),
    untilEnd: () => waitFor(() => hasEnded),
    reset: () => void socket.resetAndDestroy(),
  }
}

/** A response as text. */
export interface RawResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Returns the last response in what was received. */
export function lastResponse(received: string): RawResponse {
  const start = received.lastIndexOf('HTTP/1.1 ')
  const [head = '', ...rest] = received.slice(start).split('\r\n\r\n')
  const [line = '', ...lines] = head.split('\r\n')
  const headers = lines.map((text) => text.split(': ')).map(([name = '', ...value]) => [name.toLowerCase(), value.join(': ')])
  return { status: Number(line.split(' ')[1]), headers: Object.fromEntries(headers), body: rest.join('\r\n\r\n') }
}
