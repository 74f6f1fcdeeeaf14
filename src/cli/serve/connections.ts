/** The connections of a server: how many there are, which are idle, and how they end without losing a request. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The connections of one server. */
export interface Connections {
  /** Open ones, also those whose TLS begins. */
  count(): number
  /** Requests that are received or answered. */
  busy(): number
  /** Says of every answer from now on that its connection ends. */
  announceEnd(): void
  /** Resolves when all connections have ended. Ends those that have been idle for a while; accept no others before. */
  drained(): Promise<void>
  /** Ends all connections now. Returns the number of requests that were cut. */
  cut(): number
}

/** Time for which a connection is idle before it is ended, in milliseconds. A client that sends without pause sends its next request in it. */
const IDLE_MS = 1000
const TICK_MS = 50

/** What is known of one connection. */
interface Use {
  requests: number
  /** Bytes that were received when it became idle: with more, a request is on its way. */
  received: number
  idleSince: number
}

/** Follows the connections of a server from now on. `isTls` says that each has a handshake first. */
export function followConnections(server: Server, isTls: boolean): Connections {
  const open = new Set<Socket>()
  const uses = new Map<Socket, Use>()
  const answers = new Set<ServerResponse>()
  let isEnding = false
  let notifyEmpty = (): void => {}
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => {
      open.delete(socket)
      if (open.size === 0) notifyEmpty()
    })
  })
  server.on(isTls ? 'secureConnection' : 'connection', (socket: Socket) => {
    uses.set(socket, { requests: 0, received: socket.bytesRead, idleSince: performance.now() })
    socket.once('close', () => uses.delete(socket))
  })
  const follow = ({ socket }: IncomingMessage, response: ServerResponse): void => {
    const use = uses.get(socket)
    if (use === undefined) return
    use.requests++
    answers.add(response)
    if (isEnding) response.setHeader('connection', 'close')
    response.once('close', () => {
      answers.delete(response)
      use.requests--
      use.received = socket.bytesRead
      use.idleSince = performance.now()
    })
  }
  server.prependListener('request', follow)
  server.prependListener('checkExpectation', follow)
  const endIdle = (since: number): void => {
    for (const [socket, { requests, received, idleSince }] of uses) {
      const isIdle = requests === 0 && socket.bytesRead === received
      if (isIdle && performance.now() - Math.max(idleSince, since) >= IDLE_MS) socket.destroy()
    }
  }
  return {
    count: () => open.size,
    busy: () => answers.size,
    announceEnd() {
      isEnding = true
      for (const response of answers) if (!response.headersSent) response.setHeader('connection', 'close')
    },
    async drained() {
      if (open.size === 0) return
      const timer = setInterval(endIdle, TICK_MS, performance.now())
      await new Promise<void>((resolve) => {
        notifyEmpty = resolve
      })
      clearInterval(timer)
    },
    cut() {
      const { size } = answers
      for (const socket of open) socket.destroy()
      for (const socket of uses.keys()) socket.destroy()
      return size
    },
  }
}
