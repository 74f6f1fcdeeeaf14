/** The edge to node:http over real sockets: targets, headers, bodies, connections, and clients that are slow or go away. */
import { createServer, type Server } from 'node:http'
import { connect, createServer as createHttp2Server } from 'node:http2'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createNodeHandler } from '../../../src/http/edges/node-edge.ts'
import { ask } from '../../support/http/ask.ts'
import { ECHO_LIMIT, type EchoRouter, echoRouter, STREAM_LENGTH } from '../../support/http/echo-router.ts'
import { lastResponse, openRaw } from '../../support/http/raw-connection.ts'
import { listen, stop } from '../../support/http/serve-vault.ts'

describe('a server of node:http', () => {
  let router: EchoRouter
  let server: Server
  let port: number
  beforeEach(async () => {
    router = echoRouter()
    server = createServer(createNodeHandler(router))
    port = await listen(server)
  })
  afterEach(() => stop(server))

  /** Sends one request as text, and returns what the router saw. */
  async function seen(text: string) {
    const connection = await openRaw(port)
    connection.send(text)
    const received = await connection.until(/\r\n\r\n\{.*\}$/s)
    connection.reset()
    return JSON.parse(lastResponse(received).body)
  }

  it.each([
    ['/a/b?c=d', '/a/b?c=d'],
    ['//a//b', '//a//b'],
    ['/a%2Fb%00/%C3%A9?x=%zz', '/a%2Fb%00/%C3%A9?x=%zz'],
    ['http://host.example/a/b?c', '/a/b?c'],
    ['http://host.example', '/'],
    ['HTTPS://user@host.example:99?c', '/?c'],
    ['*', '*'],
  ])('the target %s is %s', async (sent, target) => {
    expect(await seen(`OPTIONS ${sent} HTTP/1.1\r\nHost: a\r\n\r\n`)).toMatchObject({ target, method: 'OPTIONS' })
  })

  it('joins headers that come twice, so that no proxy reads another credential than the router', async () => {
    const { headers } = await seen(
      'GET / HTTP/1.1\r\nHost: a\r\nauthorization: Bearer TEST_SECRET-1\r\nX-A: 1\r\nAUTHORIZATION: Bearer TEST_SECRET-2\r\nx-a: 2\r\n\r\n',
    )
    expect(headers).toEqual({ authorization: 'Bearer TEST_SECRET-1, Bearer TEST_SECRET-2', host: 'a', x: '1, 2' })
  })

  it.each(['gzip, chunked', 'gzip,chunked', 'identity, chunked'])(
    'refuses the transfer encoding %j, of which it decodes one at most',
    async (coding) => {
      const connection = await openRaw(port)
      connection.send(`POST /read HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ${coding}\r\n\r\n3\r\nabc\r\n0\r\n\r\n`)
      expect(lastResponse(await connection.until('transfer encoding')).status).toBe(400)
      connection.reset()
    },
  )

  it('answers TRACE without the request', async () => {
    expect((await ask(port, ['TRACE', '/'], { credential: null, headers: { 'x-b': 'TEST_SECRET' } })).text).not.toContain(
      'TEST_SECRET',
    )
  })

  it('answers pipelined requests in their order, on one connection', async () => {
    const connection = await openRaw(port)
    connection.send(
      'GET /1 HTTP/1.1\r\nHost: a\r\n\r\nPOST /chunks HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET /2 HTTP/1.1\r\nHost: a\r\n\r\n',
    )
    const received = await connection.until('"/2"')
    expect(received.indexOf('"/1"')).toBeLessThan(received.indexOf('\r\n\r\n3'))
    expect(received).not.toMatch(/connection: close/i)
    connection.reset()
  })

  it('keeps the connection after a short body that was not read', async () => {
    const connection = await openRaw(port)
    connection.send('POST /ignore HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc')
    await connection.until('refused')
    connection.send('defghijGET /after HTTP/1.1\r\nHost: a\r\n\r\n')
    expect(await connection.until('"/after"')).not.toMatch(/connection: close/i)
    connection.reset()
  })

  it('reads a body whole, in one chunk, in many of one byte, and none', async () => {
    for (const body of ['', 'a', 'b'.repeat(ECHO_LIMIT)]) expect((await ask(port, ['POST', '/read'], { body })).text).toBe(body)
    const connection = await openRaw(port)
    connection.send('POST /read HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n')
    for (let packet = 0; packet < 20; packet++) connection.send('1\r\nx\r\n'.repeat(500))
    connection.send('0\r\n\r\n')
    expect(lastResponse(await connection.until('x'.repeat(10_000))).body).toBe('x'.repeat(10_000))
    connection.reset()
  })

  it('answers a body over the limit at once when its length is known, and ends the connection', async () => {
    const connection = await openRaw(port)
    connection.send(`POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: ${ECHO_LIMIT + 1}\r\n\r\n`)
    expect(lastResponse(await connection.until('limit_exceeded'))).toMatchObject({
      status: 400,
      headers: { connection: 'close' },
    })
    connection.socket.end()
    await connection.untilEnd()
  })

  it('answers a chunked body at the byte over the limit, and a client that sends on still reads the answer', async () => {
    const connection = await openRaw(port)
    connection.send('POST /read HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n')
    const chunk = `${(10_000).toString(16)}\r\n${'x'.repeat(10_000)}\r\n`
    for (let sent = 0; sent < 10; sent++) connection.send(chunk)
    await setImmediate()
    expect(router.failures).toEqual([])
    for (let sent = 0; sent < 500; sent++) connection.send(chunk)
    connection.send('0\r\n\r\n')
    expect(lastResponse(await connection.untilEnd()).body).toBe('limit_exceeded')
    expect(router.failures).toEqual(['limit_exceeded'])
  })

  it('streams a large upload and a large download', async () => {
    const body = Buffer.alloc(20_000_000, 'x')
    expect((await ask(port, ['POST', '/chunks'], { body })).text).toBe('20000000')
    expect((await ask(port, ['GET', '/stream'])).bytes).toHaveLength(STREAM_LENGTH)
  })

  it.each(['/read', '/chunks'])('a client that goes away during its body cancels %s', async (path) => {
    for (const end of ['reset', 'end'] as const) {
      const connection = await openRaw(port)
      connection.send(`POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc`)
      // The server reads in the order of arrival, so the first request has begun when this one is answered.
      await ask(port, ['GET', '/'])
      if (end === 'reset') connection.reset()
      else connection.socket.end()
      await connection.untilEnd()
    }
    await expect.poll(() => router.failures).toEqual(['cancelled', 'cancelled'])
  })

  it('a client that goes away aborts the signal, and ends the stream that it reads', async () => {
    const waiting = await openRaw(port)
    waiting.send('GET /wait HTTP/1.1\r\nHost: a\r\n\r\n')
    const reading = await openRaw(port)
    reading.send('GET /stream HTTP/1.1\r\nHost: a\r\n\r\n')
    await reading.until('200 OK')
    waiting.reset()
    reading.reset()
    await expect.poll(() => [router.aborted(), router.endedStreams()]).toEqual([1, 1])
  })

  it('a stream that fails ends the connection before the response is whole', async () => {
    const connection = await openRaw(port)
    connection.send('GET /broken HTTP/1.1\r\nHost: a\r\n\r\n')
    const received = await connection.untilEnd()
    expect(received).toContain('200 OK')
    expect(received).not.toContain('TEST_SECRET')
    expect(received.endsWith('0\r\n\r\n')).toBe(false)
  })

  it('64 slow clients do not delay a fast one', async () => {
    const slow = await Promise.all(Array.from({ length: 64 }, () => openRaw(port)))
    for (const connection of slow) connection.send('POST /read HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n')
    const expected: string[] = []
    for (let round = 0; round < 20; round++) {
      for (const connection of slow) connection.send('1\r\ns\r\n')
      // Each answer comes while all slow requests are unfinished.
      expect((await ask(port, ['POST', '/read'], { body: `fast ${round}` })).text).toBe(`fast ${round}`)
      expected.push('s')
    }
    for (const connection of slow) connection.send('0\r\n\r\n')
    for (const connection of slow) expect(lastResponse(await connection.until(expected.join(''))).status).toBe(200)
    for (const connection of slow) connection.reset()
  })

  it('100 clients that hold a body at the limit, which ends in chunks of one byte, take at most three times its bytes', async () => {
    const held = await Promise.all(Array.from({ length: 100 }, () => openRaw(port)))
    const before = await heldMemory()
    const most = ECHO_LIMIT - 10_000
    for (const connection of held) {
      connection.send('POST /read HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n')
      connection.send(`${most.toString(16)}\r\n${'x'.repeat(most)}\r\n`)
    }
    for (let sent = most; sent < ECHO_LIMIT; sent += 1000) {
      for (const connection of held) connection.send('1\r\nx\r\n'.repeat(1000))
      await setImmediate()
    }
    await Promise.all(held.map((connection) => new Promise((resolve) => connection.socket.write('', resolve))))
    const others = await ask(port, ['POST', '/read'], { body: 'another' })
    expect(others.text).toBe('another')
    expect((await heldMemory()) - before).toBeLessThan(3 * 100 * ECHO_LIMIT)
    for (const connection of held) connection.reset()
    await expect.poll(() => router.failures.filter((code) => code === 'cancelled').length).toBe(100)
  })

  it('listens once for all chunks, because middleware hands listeners on to a stream from which they are not removed', async () => {
    const listened: string[] = []
    const streaming = createNodeHandler(router)
    // Each write fills so small a buffer.
    const compressing = createServer({ highWaterMark: 1 }, (request, response) => {
      response.on('newListener', (event) => listened.push(String(event)))
      void streaming(request, response)
    })
    expect((await ask(await listen(compressing), ['GET', '/stream'])).bytes).toHaveLength(STREAM_LENGTH)
    expect(listened.filter((event) => event === 'drain')).toEqual(['drain'])
    await stop(compressing)
  })

  it('a stream ends when the host has answered before it began', async () => {
    let ended = 0
    async function* chunks(): AsyncGenerator<Uint8Array> {
      try {
        yield Uint8Array.of(1)
      } finally {
        ended++
      }
    }
    const streaming = createNodeHandler({
      respond: async () => ({ status: 200, headers: {}, body: chunks() }),
      close: async () => {},
    })
    const impatient = createServer((request, response) => {
      response.writeHead(503)
      void streaming(request, response)
    })
    const connection = await openRaw(await listen(impatient))
    connection.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await connection.untilEnd()
    expect(ended).toBe(1)
    await stop(impatient)
  })

  it('the same handler serves HTTP/2 in clear text', async () => {
    const second = createHttp2Server((request, response) => {
      // The compatibility layer has the members of node:http that the handler uses.
      Reflect.apply(createNodeHandler(router), undefined, [request, response])
    })
    const secondPort = await listen(second)
    const client = connect(`http://127.0.0.1:${secondPort}`)
    const send = (headers: Record<string, string>, body?: string) =>
      new Promise<string>((resolve, reject) => {
        const stream = client.request(headers, { endStream: body === undefined })
        let received = ''
        stream
          .on('data', (chunk: Buffer) => (received += chunk))
          .on('end', () => resolve(received))
          .on('error', reject)
        if (body !== undefined) stream.end(body)
      })
    expect(JSON.parse(await send({ ':path': '/a?b' }))).toMatchObject({
      target: '/a?b',
      hasBody: false,
      headers: { host: `127.0.0.1:${secondPort}` },
    })
    expect(await send({ ':method': 'POST', ':path': '/read' }, 'without a length')).toBe('without a length')
    expect((await send({ ':path': '/stream' })).length).toBe(STREAM_LENGTH)
    client.close()
    await new Promise((resolve) => second.close(resolve))
  })
})

/** Bytes in use after what is free was collected. */
async function heldMemory(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    collectGarbage()
    await setImmediate()
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}
