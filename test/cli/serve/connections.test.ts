/** Connections end when they are idle, and never while a request is on its way: with TLS and without. */
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { Server as NetServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { type Connections, followConnections } from '../../../src/cli/serve/connections.ts'
import { listen } from '../../support/http/serve-vault.ts'
import { openClient } from '../../support/serve/one-connection.ts'
import { makeTlsFiles } from '../../support/serve/tls-files.ts'

const GET = 'GET / HTTP/1.1\r\nhost: test\r\n\r\n'
const files = makeTlsFiles()
afterAll(files.remove)

/** A server, its connections, and a client with one connection on which a request was answered. */
async function open(isTls: boolean, listener: RequestListener = (_, response) => response.end('ok')) {
  const server: Server = isTls ? createTlsServer(files.pair(), listener) : createServer(listener)
  const connections = followConnections(server, isTls)
  const port = await listen(server)
  onTestFinished(() => void connections.cut())
  const client = await openClient(port, isTls)
  return { server, connections, port, client }
}

/** The way of the server: the port is closed, and nothing else. */
function drain(server: Server, connections: Connections): Promise<void> {
  NetServer.prototype.close.call(server)
  connections.announceEnd()
  return connections.drained()
}

describe.each([
  ['without TLS', false],
  ['with TLS', true],
])('%s', (_, isTls) => {
  it('a request that is sent on an idle connection after the end began is answered, and says that its connection ends', async () => {
    const { server, connections, client } = await open(isTls)
    client.send(GET)
    await client.until('ok')
    const drained = drain(server, connections)
    await pause(300)
    client.send(GET)
    expect(await client.untilEnd()).toMatch(/connection: close[\s\S]*ok$/i)
    await drained
    expect(connections.count()).toBe(0)
  })

  it('that of http.Server resets such a connection, which is what this test finds', async () => {
    const { server, client } = await open(isTls)
    client.send(GET)
    await client.until('ok')
    server.close()
    await pause(300)
    client.send(GET)
    expect(await client.untilEnd()).not.toMatch(/ok[\s\S]*ok$/)
  })

  it('connections that stay idle, and those that never asked, end after a second', async () => {
    const { server, connections, port, client } = await open(isTls)
    client.send(GET)
    await client.until('ok')
    await openClient(port, isTls)
    expect(connections.count()).toBe(2)
    const start = performance.now()
    await drain(server, connections)
    expect(performance.now() - start).toBeGreaterThan(900)
    expect(connections.count()).toBe(0)
  })

  it('a request in progress ends, and one whose headers are on their way', async () => {
    const slow = Promise.withResolvers<void>()
    const { server, connections, port, client } = await open(isTls, async (_, response) => {
      await slow.promise
      response.end('ok')
    })
    client.send(GET)
    await once(server, 'request')
    const half = await openClient(port, isTls)
    half.send('GET / HTTP/1.1\r\n')
    // Its bytes have arrived before the end begins.
    await pause(100)
    const drained = drain(server, connections)
    await pause(1500)
    half.send('host: test\r\n\r\n')
    await once(server, 'request')
    expect(connections.busy()).toBe(2)
    slow.resolve()
    expect(await client.untilEnd()).toMatch(/connection: close/i)
    expect(await half.untilEnd()).toMatch(/ok$/)
    await drained
  })

  it('what is cut is counted', async () => {
    const { server, connections, client } = await open(isTls, () => {})
    client.send(GET)
    await once(server, 'request')
    const drained = drain(server, connections)
    expect(connections.cut()).toBe(1)
    await drained
  })
})
