/** A client with one connection, with TLS or without, on which a test writes what it wants. */

import { once } from 'node:events'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'

/** A connection. */
export interface OneConnection {
  send(text: string): void
  /** Resolves with all that was received, when it holds the text. */
  until(text: string): Promise<string>
  /** Resolves with all that was received, when the connection has ended in any way. */
  untilEnd(): Promise<string>
  end(): void
}

/** Opens a connection to a port of this machine, from an address of it. */
export async function openClient(port: number, isTls = false, localAddress = '127.0.0.1'): Promise<OneConnection> {
  const place = { port, host: '127.0.0.1', localAddress }
  const socket = isTls ? connectTls({ ...place, rejectUnauthorized: false }) : connect(place)
  await once(socket, isTls ? 'secureConnect' : 'connect')
  let received = ''
  socket.on('error', () => {})
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1')
  })
  const closed = once(socket, 'close').then(() => received)
  return {
    send: (text) => void socket.write(text),
    until: (text) =>
      new Promise((resolve, reject) => {
        const check = (): void => void (received.includes(text) && resolve(received))
        socket.on('data', check)
        check()
        void closed.then(() => reject(new Error(`The connection ended after ${JSON.stringify(received.slice(0, 500))}`)))
      }),
    untilEnd: () => closed,
    end: () => void socket.destroy(),
  }
}
