/** Sends prepared requests over keep-alive connections, in a thread of its own, and reports how long they took. */
import { connect, type Socket } from 'node:net'
import { parentPort } from 'node:worker_threads'

/** One run: requests as they go over the wire, shared out among the connections in order. */
export interface LoadRequest {
  readonly port: number
  readonly connections: number
  readonly requests: readonly string[]
}

/** How a run went. */
export interface LoadResult {
  readonly milliseconds: number
  /** Microseconds of CPU that this thread used. */
  readonly cpu: number
  /** Milliseconds that 99 of 100 requests took at most. */
  readonly p99: number
  /** Statuses other than 200, and how often each came. */
  readonly failed: Readonly<Record<number, number>>
}

const open: Socket[] = []
let openPort = 0

parentPort?.on('message', (request: LoadRequest) => {
  run(request).then(
    (result) => parentPort?.postMessage(result),
    (error: unknown) => {
      throw error
    },
  )
})

async function run({ port, connections, requests }: LoadRequest): Promise<LoadResult> {
  if (openPort !== port) for (const socket of open.splice(0)) socket.destroy()
  openPort = port
  while (open.length < connections) open.push(await connected(port))
  const encoded = requests.map((text) => Buffer.from(text))
  const times: number[] = []
  const failed: Record<number, number> = {}
  let next = 0
  const [begun, cpuBegun] = [performance.now(), threadCpu()]
  await Promise.all(
    open.map(async (socket) => {
      for (let index = next++; index < encoded.length; index = next++) {
        const sent = performance.now()
        const status = await exchange(socket, encoded[index] ?? Buffer.alloc(0))
        times.push(performance.now() - sent)
        if (status !== 200) failed[status] = (failed[status] ?? 0) + 1
      }
    }),
  )
  const [milliseconds, cpu] = [performance.now() - begun, threadCpu() - cpuBegun]
  times.sort((left, right) => left - right)
  return { milliseconds, cpu, p99: times[Math.floor(times.length * 0.99)] ?? 0, failed }
}

function threadCpu(): number {
  const { user, system } = process.threadCpuUsage()
  return user + system
}

function connected(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket))
    socket.setNoDelay(true)
    socket.once('error', reject)
  })
}

/** Sends one request, and returns the status of its response once it is whole. */
function exchange(socket: Socket, request: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    let text = ''
    const onData = (chunk: Buffer): void => {
      text += chunk.toString('latin1')
      const end = text.indexOf('\r\n\r\n')
      if (end < 0) return
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
      if (text.length < end + 4 + length) return
      socket.off('data', onData).off('close', onClose)
      resolve(Number(text.slice(9, 12)))
    }
    const onClose = (): void => reject(new Error('The server closed the connection.'))
    socket.on('data', onData).on('close', onClose)
    socket.write(request)
  })
}
