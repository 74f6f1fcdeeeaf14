/** What the client sends again, and what not: by the code of the vault, by statuses of what is before it, and by the deadline of the caller. */
import { createServer, type Server } from 'node:http'
import { inspect } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { type ClientCredentials, type ConnectOptions, connectVault } from '../../src/client/index.ts'
import { type ErrorCode, STATUSES, VaultError } from '../../src/index.ts'
import { listen, serveVault, stop } from '../support/http/serve-vault.ts'
import { CLERK, OWNER, openPeople, type people } from '../support/vaults/test-vault.ts'

type Answer =
  | { readonly status: number; readonly body?: string; readonly headers?: Record<string, string>; readonly stays?: true }
  | 'none'
  | 'cut'

const cleanUp: (() => unknown)[] = []
afterEach(async () => {
  for (const close of cleanUp.splice(0).reverse()) await close()
})

/** A server that gives these answers in order, and then successes; and what it was asked. */
async function scripted(answers: readonly Answer[], options: Partial<ConnectOptions> = {}) {
  const asked: { readonly key: string | undefined; readonly bearer: string | undefined; readonly at: number }[] = []
  const server: Server = createServer((request, response) => {
    const answer = answers[asked.length] ?? { status: 200, body: '{"records":[{"id":"1"}]}' }
    const { 'idempotency-key': key, authorization: bearer } = request.headers
    asked.push({ key: String(key), bearer, at: Date.now() })
    request.resume().on('end', () => {
      if (answer === 'cut') request.socket.destroy()
      else if (answer !== 'none') {
        response.writeHead(answer.status, answer.headers).write(answer.body)
        if (answer.stays !== true) response.end()
      }
    })
  })
  const port = await listen(server)
  cleanUp.push(() => stop(server))
  const session = connectVault<typeof people>({ url: `http://127.0.0.1:${port}`, vaultId: 'v1', credentials: 'key', ...options })
  const write = () => session.insert('people', [{ fields: { name: 'Ann' } }])
  return { asked, session, write, read: () => session.get('people') }
}

/** An error as a vault answers it. */
function ofVault(code: ErrorCode): Answer {
  const { http, grpc } = STATUSES[code]
  return {
    status: http,
    body: JSON.stringify({ error: { code, message: `Insert failed. ${code}`, details: [], grpc_code: grpc, http_code: http } }),
  }
}

const HTML = { body: '<html>an error of a proxy</html>' }

describe('the client', () => {
  it.each(Object.keys(STATUSES) as ErrorCode[])('after %s of the vault', async (code) => {
    const isSafe = code === 'aborted' || code === 'unavailable' || code === 'outcome_unknown'
    for (const kind of ['read', 'write'] as const) {
      const scene = await scripted([ofVault(code)])
      const ended = await scene[kind]().catch((error: unknown) => error)
      expect(scene.asked.length, kind).toBe(isSafe ? 2 : 1)
      if (isSafe) expect(ended).toEqual({ records: [{ id: '1' }] })
      else
        expect(ended).toMatchObject({ name: 'VaultError', code, httpStatus: STATUSES[code].http, grpcCode: STATUSES[code].grpc })
      // Every attempt of a write has the same key, and no read has one.
      const keys = new Set(scene.asked.map(({ key }) => key))
      expect(keys.size).toBe(1)
      expect(keys.has('undefined')).toBe(kind === 'read')
    }
  })

  it.each([
    [429, 2, 'unavailable', 'unavailable'],
    [500, 2, 'unavailable', 'outcome_unknown'],
    [502, 2, 'unavailable', 'outcome_unknown'],
    [504, 2, 'unavailable', 'outcome_unknown'],
    [400, 1, 'invalid_request', 'invalid_request'],
    [401, 1, 'invalid_request', 'invalid_request'],
    [413, 1, 'invalid_request', 'invalid_request'],
    [302, 1, 'invalid_request', 'invalid_request'],
  ] as const)('after %i of a proxy', async (status, times, read, write) => {
    for (const [kind, code] of [
      ['read', read],
      ['write', write],
    ] as const) {
      const headers = { location: 'http://127.0.0.1:1/elsewhere' }
      const one = await scripted([{ status, ...HTML, headers }])
      await one[kind]().catch(() => {})
      expect(one.asked.length, kind).toBe(times)
      const always = await scripted(
        Array.from({ length: 9 }, () => ({ status, ...HTML, headers })),
        { retries: 1 },
      )
      await expect(always[kind]()).rejects.toMatchObject({ code, message: expect.stringContaining(String(status)) })
    }
  })

  it('after a connection that is cut, and after no answer in time', async () => {
    for (const answer of ['cut', 'none'] as const) {
      const scene = await scripted([answer, answer], { timeoutMs: 300 })
      expect(await scene.write()).toEqual({ records: [{ id: '1' }] })
      expect(scene.asked).toHaveLength(3)
      const always = await scripted(
        Array.from({ length: 9 }, () => answer),
        { timeoutMs: 100, retries: 1 },
      )
      await expect(always.write()).rejects.toMatchObject({ code: 'outcome_unknown' })
      await expect(always.read()).rejects.toMatchObject({ code: 'unavailable' })
      expect(always.asked).toHaveLength(4)
    }
  })

  it('does not send work again that has no key, and says that it may go on', async () => {
    const { asked, session } = await scripted(['cut'])
    await expect(session.perform('rotateKeys', {})).rejects.toMatchObject({ code: 'outcome_unknown' })
    expect(asked.map(({ key }) => key)).toEqual(['undefined'])
  })

  it('waits as long as the server asks', async () => {
    const { asked, write } = await scripted([{ status: 429, ...HTML, headers: { 'retry-after': '1' } }])
    await write()
    expect((asked[1]?.at ?? 0) - (asked[0]?.at ?? 0)).toBeGreaterThan(950)
  })

  it('does not send a write again whose version was older', async () => {
    const { asked, session } = await scripted([ofVault('aborted')])
    await expect(session.updateOne('people', '1', { name: 'x' }, { ifVersion: 'v' })).rejects.toMatchObject({ code: 'aborted' })
    expect(asked).toHaveLength(1)
  })

  it.each(['<html>a page</html>', 'null', '[]', '{}', '{"records":[{"id"'])(
    'says of %s that it is not of a vault',
    async (body) => {
      const scene = await scripted(Array.from({ length: 4 }, () => ({ status: 200, body })))
      const message = expect.stringContaining('Check the url')
      await expect(scene.read()).rejects.toMatchObject({ code: 'internal', message })
      // It can be a part of the answer of a vault that has stored it.
      await expect(scene.write()).rejects.toMatchObject({ code: 'outcome_unknown', message })
      await expect(scene.session.batch([])).rejects.toMatchObject({ code: 'outcome_unknown', message })
      expect(scene.asked).toHaveLength(3)
    },
  )

  it('has no credential in an error, its cause, or a retry, if none can be sent', async () => {
    for (const credentials of ['sr_a\nsecret', 'sr_\u0394secret', '']) {
      const { read, write, asked } = await scripted([], { credentials })
      for (const call of [read, write]) {
        const error = await call().catch((thrown: unknown) => thrown)
        expect(error).toMatchObject({ code: 'invalid_request', message: expect.stringContaining('credential') })
        expect(inspect(error, { depth: 9 })).not.toContain('secret')
      }
      expect(asked).toEqual([])
    }
    await expect(scripted([], { url: 'http://user:secret@127.0.0.1' })).rejects.toThrow('without a query or a password')
    const fromFile = await scripted([], { credentials: 'key\n' })
    await fromFile.read()
    expect(fromFile.asked[0]?.bearer).toBe('Bearer key')
  })

  it('refuses an idempotency key that no header can have', async () => {
    const { session, asked } = await scripted([])
    const write = session.perform('insert', { table: 'people', records: [] }, { idempotencyKey: 'a\nb' })
    await expect(write).rejects.toMatchObject({ code: 'invalid_request', message: expect.stringContaining('idempotencyKey') })
    expect(asked).toEqual([])
  })

  it('waits for ever without a limit of time', async () => {
    const { read } = await scripted([], { timeoutMs: Number.POSITIVE_INFINITY, retries: 0 })
    expect(await read()).toEqual({ records: [{ id: '1' }] })
  })

  it('ends at an abort: before a request, in it, between two, and in a file', async () => {
    const aborted = { code: 'cancelled' }
    const early = await scripted([])
    await expect(early.session.query('SELECT name FROM people', { signal: AbortSignal.abort() })).rejects.toMatchObject(aborted)
    expect(early.asked).toEqual([])
    for (const answers of [['none'], [{ status: 429, ...HTML, headers: { 'retry-after': '30' } }]] as const) {
      const { session } = await scripted(answers)
      const signal = AbortSignal.timeout(200)
      await expect(session.query('SELECT name FROM people', { signal })).rejects.toMatchObject(aborted)
      await expect(session.insert('people', [{ fields: { name: 'x' } }], { signal })).rejects.toMatchObject(aborted)
    }
    const headers = { 'content-range': 'bytes 0-9/10', 'content-disposition': `attachment; filename*=UTF-8''a` }
    const file = await scripted([
      { status: 206, body: '01234', headers },
      { status: 206, body: '01234', headers, stays: true },
      { status: 206, body: '0123456789', headers },
    ])
    const openFile = (signal?: AbortSignal) => file.session.openFile('people', '1', 'name' as never, signal && { signal })
    const { stream } = await openFile()
    await expect(drain(stream)).rejects.toMatchObject({ code: 'unavailable', message: expect.stringContaining('ended early') })
    // Also while a chunk is waited for that never comes.
    const late = new AbortController()
    const waiting = await openFile(late.signal)
    setTimeout(() => late.abort(), 300)
    await expect(drain(waiting.stream)).rejects.toMatchObject(aborted)
    const controller = new AbortController()
    const opened = await openFile(controller.signal)
    controller.abort()
    await expect(drain(opened.stream)).rejects.toMatchObject(aborted)
  })

  it('refuses a value that JSON would change without a word', async () => {
    const { session, asked } = await scripted([])
    const notJson = [new Map([['a', 1]]), Buffer.from('a'), () => 1, new Date(Number.NaN), Number.NaN, [undefined], [Symbol('a')]]
    for (const notes of notJson)
      await expect(session.insertOne('people', { name: 'x', notes: notes as never })).rejects.toMatchObject({
        code: 'invalid_request',
      })
    expect(asked).toEqual([])
  })

  it('refuses a part of where that is undefined: without it, a call is of more records', async () => {
    const { session, asked } = await scripted([])
    const refused = { code: 'invalid_request', message: expect.stringContaining('of where is undefined') }
    for (const where of [
      { name: 'x', notes: undefined },
      { name: 'x', notes: { from: 'a', below: undefined } },
    ]) {
      await expect(session.get('people', { where: where as never })).rejects.toMatchObject(refused)
      await expect(session.deleteWhere('people', where as never)).rejects.toMatchObject(refused)
    }
    expect(asked).toEqual([])
  })
})

async function drain(stream: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of stream);
}

describe('credentials', () => {
  /** A vault that accepts some bearers, which the test changes. */
  async function serve(credentials: ClientCredentials) {
    const accepted = new Set<string>()
    const served = await serveVault({
      vault: (await openPeople(memoryStorage())) as never,
      handler: {
        authenticate: async ({ credential }) =>
          accepted.has(credential)
            ? { caller: credential === 'clerk' ? CLERK : OWNER, credential: { keyID: 'test' } }
            : undefined,
      },
    })
    cleanUp.push(() => served.close())
    const session = connectVault<typeof people>({ url: `http://127.0.0.1:${served.port}`, vaultId: 'v1', credentials })
    return { accepted, session }
  }

  it('are asked for once, and once more for all calls that a refused bearer had', async () => {
    const renewals: boolean[] = []
    const { accepted, session } = await serve(({ renew }) => {
      renewals.push(renew)
      return `bearer-${renewals.length}`
    })
    accepted.add('bearer-1')
    await Promise.all([session.get('people'), session.get('people')])
    expect(renewals).toEqual([false])
    accepted.clear()
    accepted.add('bearer-2')
    await Promise.all(Array.from({ length: 8 }, () => session.insertOne('people', { name: 'x' })))
    expect(renewals).toEqual([false, true])
    expect((await session.get('people')).records).toHaveLength(8)
  })

  it('that are refused again are an error, and so are those that are a text', async () => {
    let asked = 0
    const { session } = await serve(() => `bearer-${++asked}`)
    await expect(session.get('people')).rejects.toMatchObject({ code: 'unauthenticated', httpStatus: 401 })
    expect(asked).toBe(2)
    const { session: fixed } = await serve('bearer')
    await expect(fixed.get('people')).rejects.toMatchObject({ code: 'unauthenticated' })
  })

  it('are not renewed for a missing grant, which has the same status', async () => {
    let asked = 0
    const { accepted, session } = await serve(() => {
      asked++
      return 'clerk'
    })
    accepted.add('clerk')
    await expect(session.get('people')).rejects.toMatchObject({ code: 'forbidden', httpStatus: 401 })
    expect(asked).toBe(1)
  })

  it('that cannot be had are the error of the application, and asked for again by the next call', async () => {
    let isDown = true
    const { accepted, session } = await serve(() => {
      if (isDown) throw new TypeError('the identity provider is down')
      return 'bearer'
    })
    accepted.add('bearer')
    await expect(session.get('people')).rejects.toThrow(TypeError)
    isDown = false
    expect(await session.get('people')).toEqual({ records: [] })
  })
})

it('errors of the client are those of the library', async () => {
  const { write } = await scripted([ofVault('conflict')])
  const error = await write().catch((thrown: unknown) => thrown)
  expect(VaultError.isGenuine(error)).toBe(true)
})
