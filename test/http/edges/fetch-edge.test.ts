/** The edge to web requests: bodies, streams that are not read to their end, and addresses. */
import { expect, it } from 'vitest'
import { createFetchHandler } from '../../../src/http/edges/fetch-edge.ts'
import { ECHO_LIMIT, echoRouter, STREAM_LENGTH } from '../../support/http/echo-router.ts'

const URL_OF = (path: string): string => `http://127.0.0.1${path}`

it('reads a body in chunks within the limit, and ends at the byte over it', async () => {
  const router = echoRouter()
  const handle = createFetchHandler(router)
  const body = (chunks: number) =>
    new ReadableStream({
      start(controller) {
        for (let sent = 0; sent < chunks; sent++) controller.enqueue(new Uint8Array(ECHO_LIMIT / 10).fill(120))
        controller.close()
      },
    })
  const post = (chunks: number) => new Request(URL_OF('/read'), { method: 'POST', body: body(chunks), duplex: 'half' })
  expect(await (await handle(post(10))).text()).toBe('x'.repeat(ECHO_LIMIT))
  expect((await handle(post(11))).status).toBe(400)
  expect(router.failures).toEqual(['limit_exceeded'])
})

it.each(['/read', '/chunks'])('a body whose client goes away cancels %s', async (path) => {
  const router = echoRouter()
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new Uint8Array(3))
    },
    pull(controller) {
      controller.error(new Error('TEST_SECRET of a server'))
    },
  })
  const response = await createFetchHandler(router)(new Request(URL_OF(path), { method: 'POST', body, duplex: 'half' }))
  expect(await response.text()).toBe('cancelled')
})

it('a client that goes away aborts the signal', async () => {
  const router = echoRouter()
  const client = new AbortController()
  const answered = createFetchHandler(router)(new Request(URL_OF('/wait'), { signal: client.signal }))
  client.abort()
  await answered
  expect(router.aborted()).toBe(1)
})

it('a body that the host has read before is an error of the host', async () => {
  const router = echoRouter()
  const request = new Request(URL_OF('/read'), { method: 'POST', body: 'abc' })
  await request.text()
  await createFetchHandler(router)(request)
  expect(router.failures).toEqual(['internal'])
})

it('streams a response as it is read, and ends the source when the reader goes away', async () => {
  const router = echoRouter()
  const handle = createFetchHandler(router)
  expect((await (await handle(new Request(URL_OF('/stream')))).arrayBuffer()).byteLength).toBe(STREAM_LENGTH)
  const reader = (await handle(new Request(URL_OF('/stream')))).body?.getReader()
  await reader?.read()
  await reader?.cancel()
  expect(router.endedStreams()).toBe(1)
})

it.each([
  [{ address: '192.0.2.1' }, '192.0.2.1'],
  [{ requestIP: () => ({ address: '2001:db8::1' }) }, '2001:db8::1'],
  [{ remoteAddr: { hostname: '192.0.2.2' } }, '192.0.2.2'],
  [{ incoming: { socket: { remoteAddress: '::1' } } }, '::1'],
  [{ address: 'a binding of the host' }, ''],
  [{ requestIP: () => null }, ''],
  [undefined, ''],
])('takes the address from %j', async (info, address) => {
  const response = await createFetchHandler(echoRouter())(new Request(URL_OF('/')), info)
  expect(await response.json()).toMatchObject({ address })
})
