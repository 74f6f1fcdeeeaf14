/** A daemon that speaks the protocol of clamd and behaves as a test says: late, wrong, in parts, or not at all. */
import { mkdtempSync, rmSync } from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'

/** One connection, as the daemon sees it. */
export interface ClamdSession {
  readonly socket: net.Socket
  /** All bytes that arrived. */
  received(): Buffer
  /** Resolves when the final length of zero has arrived. Never resolves if the client ends before. */
  whole(): Promise<Buffer>
  /** Resolves when so many bytes of content have arrived. */
  atLeast(bytes: number): Promise<void>
  /** Resolves when the connection is closed, by whichever side. */
  closed(): Promise<void>
  /** Sends a reply with its zero byte, and closes. */
  reply(text: string): void
}

/** What the daemon does with a connection. */
export type ClamdBehavior = (session: ClamdSession) => void | Promise<void>

export interface FakeClamd {
  /** Where it listens. The port is 0 for a socket in the file system. */
  readonly address: { readonly host: string; readonly port: number }
  /** Connections since the start. */
  readonly accepted: number
  /** Connections that are open now. */
  readonly open: number
  /** Resolves when no connection is open. */
  idle(): Promise<void>
  /** Does this with later connections. */
  behave(behavior: ClamdBehavior): void
  stop(): Promise<void>
}

const COMMAND = Buffer.from('zINSTREAM\0')
const FINDS = 'stream: Test.Found FOUND'

/** What a daemon with the right settings does: it finds "BAD", and reports archives, none of which it can read. */
export async function behaveWell(session: ClamdSession): Promise<void> {
  const content = await session.whole()
  if (content.subarray(0, 2).equals(Buffer.from('PK'))) session.reply('stream: Heuristics.Limits.Exceeded.MaxRecursion FOUND')
  else session.reply(content.includes('BAD') ? FINDS : 'stream: OK')
}

/** A daemon that acts as soon as a session has got somewhere. */
export function once(reached: (session: ClamdSession) => Promise<unknown>, act: (session: ClamdSession) => void): ClamdBehavior {
  return async (session) => {
    await reached(session)
    act(session)
  }
}

/** Starts a daemon that behaves well, on a free port or on a socket in the file system. */
export async function startFakeClamd(socketPath?: string): Promise<FakeClamd> {
  let behavior: ClamdBehavior = behaveWell
  let accepted = 0
  const sockets = new Set<net.Socket>()
  const waiting = new Set<() => void>()
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    accepted++
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => {
      sockets.delete(socket)
      if (sockets.size === 0) for (const resume of waiting) resume()
    })
    void behavior(openSession(socket))
  })
  await new Promise<void>((ready) =>
    server.listen(socketPath === undefined ? { port: 0, host: '127.0.0.1' } : { path: socketPath }, ready),
  )
  const bound = server.address()
  return {
    address: { host: '127.0.0.1', port: typeof bound === 'object' && bound !== null ? bound.port : 0 },
    get accepted() {
      return accepted
    },
    get open() {
      return sockets.size
    },
    idle: () => new Promise((resolve) => (sockets.size === 0 ? resolve() : waiting.add(resolve))),
    behave(given) {
      behavior = given
    },
    async stop() {
      const closed = new Promise<void>((done) => server.close(() => done()))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

function openSession(socket: net.Socket): ClamdSession {
  const arrived: Buffer[] = []
  const parser = createParser()
  const checks = new Set<() => void>()
  socket.on('data', (bytes: Buffer) => {
    arrived.push(bytes)
    parser.add(bytes)
    for (const check of checks) check()
  })
  // The client has closed its side: nothing can be replied.
  socket.on('end', () => socket.destroy())
  const until = (isTrue: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const check = (): void => {
        if (!isTrue()) return
        checks.delete(check)
        resolve()
      }
      checks.add(check)
      check()
    })
  return {
    socket,
    received: () => Buffer.concat(arrived),
    async whole() {
      await until(() => parser.isWhole)
      return Buffer.concat(parser.pieces)
    },
    atLeast: (bytes) => until(() => parser.length >= bytes),
    closed: () => new Promise((resolve) => (socket.destroyed ? resolve() : socket.once('close', () => resolve()))),
    reply: (text) => socket.end(`${text}\0`),
  }
}

/** Reads what a client sends: the command, then pieces, each a length in 4 bytes, big-endian, and the bytes. A length of zero is the end. */
function createParser() {
  const pieces: Buffer[] = []
  let rest = Buffer.alloc(0)
  let hasCommand = false
  let isWhole = false
  let length = 0
  return {
    pieces,
    get isWhole() {
      return isWhole
    },
    /** Bytes of content, without a piece that is not complete. */
    get length() {
      return length
    },
    add(bytes: Buffer) {
      rest = Buffer.concat([rest, bytes])
      if (!hasCommand && rest.length >= COMMAND.length) {
        if (!rest.subarray(0, COMMAND.length).equals(COMMAND)) throw new Error('the client sent another command')
        hasCommand = true
        rest = rest.subarray(COMMAND.length)
      }
      while (hasCommand && !isWhole && rest.length >= 4) {
        const next = rest.readUInt32BE(0)
        isWhole = next === 0
        if (isWhole || rest.length < 4 + next) return
        pieces.push(rest.subarray(4, 4 + next))
        length += next
        rest = rest.subarray(4 + next)
      }
    },
  }
}

/** Reads all that a client sent. */
export function parsePieces(received: Buffer): {
  readonly content: Buffer
  readonly pieces: number[]
  readonly isWhole: boolean
} {
  const parser = createParser()
  parser.add(received)
  return { content: Buffer.concat(parser.pieces), pieces: parser.pieces.map((piece) => piece.length), isWhole: parser.isWhole }
}

/** A path for the socket of a daemon, in a folder of its own, and the removal of both. */
export function freshSocketPath(): { readonly socket: string; remove(): void } {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'strongroom-clamd-'))
  return { socket: path.join(folder, 'clamd.sock'), remove: () => rmSync(folder, { recursive: true, force: true }) }
}
