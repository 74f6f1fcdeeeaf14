/** Sends requests over keep-alive connections, in a thread of its own, and reports how many there were and how long they took. */
import { connect, type Socket } from 'node:net'
import { parentPort } from 'node:worker_threads'
import { threadCpu } from './event-loop-watch.ts'

/** One run. */
export interface LoadRequest {
  readonly port: number
  readonly connections: number
  /** Requests as they go over the wire, shared out among the connections in order, and again from the first. */
  readonly requests: readonly string[]
  /** No request begins after this time. */
  readonly milliseconds: number
}

/** How a run went. */
export interface LoadResult {
  /** Number of requests. */
  readonly sent: number
  /** Microseconds of CPU that this thread used. */
  readonly cpu: number
  /** Milliseconds that 99 of 100 requests took at most. */
  readonly p99: number
  /** Statuses other than 200, and how often each came. */
  readonly failed: Readonly<Record<number, number>>
}

const open: Connection[] = []
let openPort = 0

parentPort?.on('message', (request: LoadRequest) => {
  run(request).then(
    (result) => parentPort?.postMessage(result),
    (error: unknown) => {
      throw error
    },
  )
})

async function run({ port, connections, requests, milliseconds }: LoadRequest): Promise<LoadResult> {
  if (openPort !== port) for (const { socket } of open.splice(0)) socket.destroy()
  openPort = port
  for (const { socket } of open.splice(connections)) socket.destroy()
  while (open.length < connections) open.push(await connected(port))
  const encoded = requests.map((text) => Buffer.from(text))
  const times: number[] = []
  const failed: Record<number, number> = {}
  let next = 0
  const [begun, cpuBegun] = [performance.now(), threadCpu()]
  const send = ({ exchange }: Connection): Promise<void> =>
    new Promise((resolve, reject) => {
      let sent = performance.now()
      const request = () => encoded[next++ % encoded.length] ?? Buffer.alloc(0)
      exchange(request, reject, (status) => {
        const now = performance.now()
        times.push(now - sent)
        sent = now
        if (status !== 200) failed[status] = (failed[status] ?? 0) + 1
        if (now - begun < milliseconds) return true
        resolve()
        return false
      })
    })
  await Promise.all(open.map(send))
  const cpu = threadCpu() - cpuBegun
  times.sort((left, right) => left - right)
  return { sent: times.length, cpu, p99: times[Math.floor(times.length * 0.99)] ?? 0, failed }
}

interface Connection {
  readonly socket: Socket
  /** Sends requests one after the other, the next as long as `onStatus` of a whole response returns true. */
  exchange(request: () => Buffer, onError: (error: Error) => void, onStatus: (status: number) => boolean): void
}

function connected(port: number): Promise<Connection> {
  return new Promise((resolve, reject) => {
    let text = ''
    let current: Parameters<Connection['exchange']> | undefined
    const socket = connect(port, '127.0.0.1', () => resolve({ socket, exchange }))
    socket.setNoDelay(true)
    socket.once('error', reject)
    socket.once('close', () => current?.[1](new Error('The server closed the connection.')))
    const exchange: Connection['exchange'] = (...given) => {
      current = given
      socket.write(given[0]())
    }
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      const end = text.indexOf('\r\n\r\n')
      if (end < 0) return
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
      if (text.length < end + 4 + length) return
      const status = Number(text.slice(9, 12))
      text = ''
      const [request, , onStatus] = current ?? []
      if (request === undefined || onStatus === undefined) return
      if (onStatus(status)) socket.write(request())
      else current = undefined
    })
  })
}
