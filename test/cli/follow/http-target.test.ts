/** Events to an HTTP server that is down, slow, fails, drops connections and loses responses. */
import { describe, expect, it } from 'vitest'
import { httpTarget, retryAfter } from '../../../src/cli/follow/targets/http-target.ts'
import { type Answer, eventServer } from '../../support/cli/event-server.ts'
import { assertDelivered, assertNoPlaintext, openFollowWorld, until } from '../../support/cli/follow-world.ts'
import { randomFor } from '../../support/random/seeded-random.ts'

const NDJSON = 'application/x-ndjson'

describe('a follower of a vault delivers to an HTTP server', () => {
  it('each event once while nothing fails, within seconds, and goes on after a restart', async () => {
    const world = await openFollowWorld()
    const server = await eventServer()
    await world.work(20)
    const first = world.follow(httpTarget({ url: server.url, mediaType: NDJSON }))
    await until('20 lines', () => server.lines().length === 20)
    const started = Date.now()
    await world.work(1)
    await until('21 lines', () => server.lines().length === 21)
    expect(Date.now() - started).toBeLessThan(5000)
    expect(await first.stop()).toEqual({ delivered: 21, failures: 0 })
    await world.work(5)
    world.follow(httpTarget({ url: server.url, mediaType: NDJSON }))
    await until('26 lines', () => server.lines().length === 26)
    await assertDelivered(server.lines(), 26)
    expect(server.taken[0]?.headers['content-type']).toBe(NDJSON)
  })

  it('all that happened while the server was down, in order, with one batch in memory', async () => {
    const world = await openFollowWorld()
    const server = await eventServer()
    const { url } = server
    await server.stop()
    await world.work(10)
    world.follow(httpTarget({ url, mediaType: NDJSON }))
    await until('attempts', () => world.log.filter(({ message }) => message.startsWith('cannot deliver')).length >= 3)
    await world.work(1200)
    expect(world.pulled()).toBe(1)
    const back = await eventServer(Number(url.port))
    await until('all lines', () => back.lines().length >= 1210)
    await assertDelivered(back.lines(), 1210)
    expect(world.log.find(({ message }) => message === 'delivers again')?.details.target).toBe(`${url.origin}/in`)
    expect(world.log[0]?.details).toMatchObject({ reason: 'ECONNREFUSED', attempts: 1, lagSeconds: expect.any(Number) })
  })

  it('through any mix of failures, at least once and in order', async () => {
    const world = await openFollowWorld()
    const server = await eventServer()
    const { below } = randomFor('failures')
    const answers: readonly Answer[] = [
      'drop',
      'lost',
      'hang',
      { status: 500, body: 'x'.repeat(100_000) },
      { status: 429, headers: { 'retry-after': '0' } },
      { status: 302, headers: { location: '/elsewhere' } },
      { status: 401 },
    ]
    let failing = 0
    server.answer = () => {
      failing = failing < 2 ? failing + 1 : 0
      return failing === 0 ? 'take' : (answers[below(answers.length)] ?? 'take')
    }
    world.follow(httpTarget({ url: server.url, mediaType: NDJSON, timeoutMs: 100 }))
    for (let round = 1; round <= 12; round++) {
      await world.work(8)
      await until('the events of a round', () => new Set(server.lines()).size === round * 8)
    }
    await assertDelivered(server.lines(), 96)
    expect(server.lines().length).toBeGreaterThan(96)
    assertNoPlaintext(JSON.stringify(world.log))
    expect(server.requests).toBeGreaterThan(server.taken.length)
  })

  it('in halves where a request is too large, and as an array', async () => {
    const world = await openFollowWorld()
    const server = await eventServer()
    const sizes: number[] = []
    server.answer = ({ body }) => {
      const { length } = JSON.parse(body)
      if (length > 30) return { status: 413 }
      sizes.push(length)
      return 'take'
    }
    await world.work(100)
    world.follow(httpTarget({ url: server.url, mediaType: NDJSON, body: 'array' }), { form: 'ocsf' })
    await until('all events', () => sizes.reduce((sum, size) => sum + size, 0) === 100)
    const events = server.taken.flatMap(({ body }) => JSON.parse(body))
    await assertDelivered(
      events.map(({ attestation, raw_data }) => `{"digest":"${attestation.fingerprint.value}","event":${raw_data}}`),
      100,
    )
    expect(server.taken[0]?.headers['content-type']).toBe('application/json')
  })

  it('with headers that are read for each request, and never sent elsewhere', async () => {
    const world = await openFollowWorld()
    const [server, elsewhere] = [await eventServer(), await eventServer()]
    server.answer = ({ headers }) =>
      headers.authorization === 'Bearer new' ? 'take' : { status: 307, headers: { location: elsewhere.url.href } }
    let token = 'Bearer old'
    await world.work(3)
    world.follow(httpTarget({ url: server.url, mediaType: NDJSON, headers: async () => ({ authorization: token }) }))
    await until('a refusal', () => server.requests > 1)
    token = 'Bearer new'
    await until('3 lines', () => server.lines().length === 3)
    expect(elsewhere.requests).toBe(0)
    expect(JSON.stringify(world.log)).not.toContain('Bearer')
    expect(world.log[0]?.details.reason).toBe('status 307')
  })

  it('not sooner than the server asks', async () => {
    const world = await openFollowWorld()
    const server = await eventServer()
    const times: number[] = []
    server.answer = () => {
      times.push(performance.now())
      return times.length === 1 ? { status: 503, headers: { 'retry-after': '2' } } : 'take'
    }
    await world.work(1)
    world.follow(httpTarget({ url: server.url, mediaType: NDJSON }))
    await until('a second request', () => times.length === 2)
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(1990)
    expect([retryAfter('5'), retryAfter('Thu, 01 Jan 1970 00:01:00 GMT', 10_000), retryAfter('soon'), retryAfter(null)]).toEqual([
      5000,
      50_000,
      undefined,
      undefined,
    ])
  })

  it('nothing more after it was stopped, and the rest when it starts again', async () => {
    const world = await openFollowWorld()
    const server = await eventServer()
    server.answer = () => 'hang'
    await world.work(4)
    const first = world.follow(httpTarget({ url: server.url, mediaType: NDJSON }), { graceMs: 100 })
    await until('a request', () => server.requests === 1)
    expect(await first.stop()).toEqual({ delivered: 0, failures: 0 })
    server.answer = () => 'take'
    const second = world.follow(httpTarget({ url: server.url, mediaType: NDJSON }))
    await until('4 lines', () => server.lines().length === 4)
    expect(await second.stop()).toEqual({ delivered: 4, failures: 0 })
  })
})

it('ends where fetch refuses to make a request at all, without the value of the header', async () => {
  const message = { text: '{}' } as never
  const deliver = (url: string, headers: Record<string, string>) =>
    httpTarget({ url: new URL(url), mediaType: NDJSON, headers: async () => headers }).deliver(
      [message],
      new AbortController().signal,
    )
  const failure = await deliver('http://127.0.0.1:9/', { authorization: 'Bearer secret\n\u0000' }).catch((error) => error)
  expect([failure.exitCode, failure.message]).toEqual([2, expect.stringContaining('http://127.0.0.1:9: a header has characters')])
  expect(failure.message).not.toContain('secret')
  await expect(deliver('http://127.0.0.1:1/', {})).rejects.toMatchObject({ exitCode: 2 })
})
