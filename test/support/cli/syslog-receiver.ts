/** A receiver of syslog that parses strictly: octet counting of RFC 6587, and messages of RFC 5424. */
import { createSocket } from 'node:dgram'
import net from 'node:net'
import tls from 'node:tls'
import { onTestFinished } from 'vitest'

export interface SyslogMessage {
  readonly facility: number
  readonly severity: number
  readonly timestamp: string
  readonly host: string
  readonly app: string
  readonly process: string
  readonly id: string
  readonly text: string
}

/** Source: RFC 5424, section 6. Structured data is nil. */
const MESSAGE =
  /^<(0|[1-9]\d{0,2})>1 (\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{1,6}Z) ([\x21-\x7e]{1,255}) ([\x21-\x7e]{1,48}) ([\x21-\x7e]{1,128}) ([\x21-\x7e]{1,32}) - (.*)$/s

export function parseSyslog(bytes: Buffer): SyslogMessage {
  const found = MESSAGE.exec(bytes.toString('utf8'))
  if (found === null) throw new Error(`no message of RFC 5424: ${bytes.toString('utf8', 0, 200)}`)
  const [, priority = '', timestamp = '', host = '', app = '', process = '', id = '', text = ''] = found
  return { facility: Number(priority) >> 3, severity: Number(priority) & 7, timestamp, host, app, process, id, text }
}

/** Takes the whole frames off the front of what a connection has sent. */
function takeFrames(bytes: Buffer): { frames: Buffer[]; rest: Buffer } {
  const frames: Buffer[] = []
  let rest = bytes
  for (;;) {
    const space = rest.indexOf(0x20)
    if (space < 0) return { frames, rest }
    const length = rest.toString('latin1', 0, space)
    if (!/^[1-9]\d{0,8}$/.test(length)) throw new Error(`no length of a frame: ${length.slice(0, 50)}`)
    const end = space + 1 + Number(length)
    if (rest.length < end) return { frames, rest }
    frames.push(rest.subarray(space + 1, end))
    rest = rest.subarray(end)
  }
}

/** How a receiver treats a connection. `drop`: reads some bytes and resets it. `ignore`: reads nothing and stays open. `refuse`: ends it at once. */
export type Behavior = 'read' | 'drop' | 'ignore' | 'refuse'

export interface SyslogReceiver {
  readonly port: number
  readonly messages: SyslogMessage[]
  /** What went wrong with frames. */
  readonly faults: unknown[]
  behavior: Behavior
  stop(): Promise<void>
}

export async function syslogReceiver({
  port = 0,
  security,
}: {
  readonly port?: number
  readonly security?: tls.TlsOptions
} = {}): Promise<SyslogReceiver> {
  const sockets = new Set<net.Socket>()
  const receiver = { port, messages: [] as SyslogMessage[], faults: [] as unknown[], behavior: 'read' as Behavior, stop }
  const serve = (socket: net.Socket): void => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    if (receiver.behavior === 'refuse') socket.end()
    if (receiver.behavior === 'ignore') socket.pause()
    if (receiver.behavior === 'drop') socket.once('data', () => socket.resetAndDestroy())
    if (receiver.behavior !== 'read') return
    let rest: Buffer = Buffer.alloc(0)
    socket.on('data', (bytes: Buffer) => {
      try {
        const taken = takeFrames(Buffer.concat([rest, bytes]))
        rest = taken.rest
        receiver.messages.push(...taken.frames.map(parseSyslog))
      } catch (error) {
        receiver.faults.push(error)
      }
    })
    socket.on('end', () => {
      if (rest.length > 0) receiver.faults.push(new Error('the connection ended in the middle of a frame'))
    })
  }
  const server = security === undefined ? net.createServer(serve) : tls.createServer(security, serve)
  server.on('tlsClientError', () => {})
  async function stop(): Promise<void> {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', () => resolve()))
  const address = server.address()
  if (typeof address === 'object' && address !== null) receiver.port = address.port
  onTestFinished(async () => {
    if (server.listening) await stop()
  })
  return receiver
}

export async function datagramReceiver(): Promise<{ port: number; messages: SyslogMessage[] }> {
  const socket = createSocket('udp4')
  const messages: SyslogMessage[] = []
  socket.on('message', (bytes) => messages.push(parseSyslog(bytes)))
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', () => resolve()))
  onTestFinished(() => void socket.close())
  return { port: socket.address().port, messages }
}
