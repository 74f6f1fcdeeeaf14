/** Writes whose answer is lost on the way: the client sends them again, and each is stored exactly once. */
import { connect, createServer, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { localKeys } from '../../src/adapters/keys/local-keys.ts'
import { connectVault } from '../../src/client/index.ts'
import { createVault } from '../../src/index.ts'
import { type CalledSession, calledSchema } from '../support/client/session-calls.ts'
import { OWNER_CREDENTIAL } from '../support/http/ask.ts'
import { listen, type ServedVault, serveVault } from '../support/http/serve-vault.ts'
import { memoryEngine, onEachStorage, type Place } from '../support/storages/engines.ts'
import { OWNER, TEST_SECRET } from '../support/vaults/test-vault.ts'

const cleanUp: (() => unknown)[] = []
afterEach(async () => {
  for (const close of cleanUp.splice(0).reverse()) await close()
})

/** A proxy that passes every request on, and drops the next answers when they come: the vault has stored the write by then. */
interface LosingProxy {
  readonly port: number
  /** Answers that it drops from now on. */
  lose(count: number): void
  /** Answers that it has dropped. */
  lost(): number
}

async function losingProxy(portOf: () => number): Promise<LosingProxy> {
  let toLose = 0
  let lost = 0
  const sockets = new Set<Socket>()
  const proxy = createServer((client) => {
    const vault = connect(portOf(), '127.0.0.1')
    for (const socket of [client, vault]) {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    }
    client.pipe(vault)
    vault.on('data', (chunk) => {
      if (toLose === 0) return void client.write(chunk)
      toLose--
      lost++
      client.destroy()
      vault.destroy()
    })
    vault.on('end', () => client.end())
  })
  const port = await listen(proxy)
  cleanUp.push(() => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
  })
  return { port, lose: (count) => (toLose = count), lost: () => lost }
}

type Write = (session: CalledSession, ids: readonly [string, string]) => Promise<unknown>

const content = new TextEncoder().encode('a scan')

/** Every write, on two stored records. */
const WRITES: Readonly<Record<string, Write>> = {
  insert: (s) => s.insert('people', [{ fields: { name: 'Cy' } }], { tokenization: true }),
  insertOne: (s) => s.insertOne('people', { name: 'Cy', email: 'cy@acme.example' }),
  upsert: (s) => s.insert('people', [{ fields: { name: 'An', email: 'ann@acme.example' } }], { upsert: 'email' }),
  update: (s, [a, b]) =>
    s.update('people', [
      { id: a, fields: { score: 2 } },
      { id: b, fields: { score: 3 } },
    ]),
  updateOne: (s, [a]) => s.updateOne('people', a, { score: 2 }),
  'updateOne of a version': async (s, [a]) => {
    const { version } = await s.getOne('people', a, { version: true })
    return s.updateOne('people', a, { score: 2 }, { ifVersion: version })
  },
  updateWhere: (s) => s.updateWhere('people', { country: 'SE' }, { score: 4 }),
  delete: (s, ids) => s.delete('people', ids),
  deleteOne: (s, [a]) => s.deleteOne('people', a),
  deleteWhere: (s) => s.deleteWhere('people', { country: 'SE' }),
  batch: (s, [a]) =>
    s.batch([
      { insert: 'people', fields: { name: 'Cy' } },
      { get: 'people', id: { response: 0 } },
      { delete: 'people', id: a },
    ]),
  uploadFile: (s, [a]) => s.uploadFile({ table: 'people', id: a, column: 'scan', file: content }),
  createCredential: (s) => s.createCredential({ kind: 'API_KEY', name: 'k', roles: ['VAULT_VIEWER'], verifier: 'ab'.repeat(32) }),
  revokeCredential: (s) => s.revokeCredential({ jti: 'some id', expiresAt: 2_000_000_000_000 }),
}

onEachStorage('an answer that is lost', (engine) => {
  async function scene(fetch?: typeof globalThis.fetch, place: Place = engine.fresh()) {
    const open = () =>
      createVault({ id: 'v1', schema: calledSchema, storage: place.open(), keys: localKeys({ key: TEST_SECRET }) })
    // Two servers of one vault, which take turns: a repeat arrives at the other one.
    const servers: ServedVault[] = []
    for (let n = 0; n < 2; n++) servers.push(await serveVault({ vault: (await open()) as never }))
    for (const server of servers) cleanUp.push(() => server.close())
    let turn = 0
    const proxy = await losingProxy(() => servers[turn++ % 2]?.port ?? 0)
    const session = connectVault<typeof calledSchema>({
      url: `http://127.0.0.1:${proxy.port}`,
      vaultId: 'v1',
      credentials: OWNER_CREDENTIAL,
      ...(fetch && { fetch }),
    })
    const near = servers[0]?.vault.as(OWNER) as unknown as CalledSession
    const { records } = await near.insert('people', [
      { fields: { name: 'Ann', email: 'ann@acme.example', country: 'SE' } },
      { fields: { name: 'Bo', email: 'bo@acme.example', country: 'DE' } },
    ])
    return { session, proxy, near, ids: [records[0]?.id ?? '', records[1]?.id ?? ''] as const }
  }

  it.each(Object.keys(WRITES))('%s: is stored exactly once', async (name) => {
    const { session, proxy, near, ids } = await scene()
    const write = WRITES[name] ?? (async () => undefined)
    let isBegun = false
    const losing = new Proxy(session, {
      get(target, member) {
        const method: unknown = Reflect.get(target, member)
        if (typeof method !== 'function') return method
        return (...given: unknown[]) => {
          // The read before a conditional write is not to be lost.
          if (member !== 'getOne' && !isBegun) proxy.lose(2)
          isBegun ||= member !== 'getOne'
          return Reflect.apply(method, target, given)
        }
      },
    })
    const result = await write(losing, ids)
    expect(proxy.lost()).toBe(2)
    expect(result).toBeDefined()
    const after = await contents(near)
    // The same write, without losses, on a vault of its own in memory: vaults are alike on every storage.
    const other = await scene(undefined, memoryEngine().fresh())
    const expected = await write(other.session, other.ids)
    expect(shapeOf(result)).toEqual(shapeOf(expected))
    expect(shapeOf(after)).toEqual(shapeOf(await contents(other.near)))
  })

  it('is found out if the writes have no keys: then one is stored twice', async () => {
    const without: typeof fetch = (input, init) => {
      const headers = new Headers(init?.headers)
      headers.delete('idempotency-key')
      return fetch(input, { ...init, headers })
    }
    const { session, proxy, near } = await scene(without)
    proxy.lose(1)
    await session.insert('people', [{ fields: { name: 'Cy' } }])
    expect((await near.get('people')).records).toHaveLength(4)
  })

  it('is an error once all attempts are lost, and the key of the application finds what was stored', async () => {
    const { session, proxy, near } = await scene()
    const input = { table: 'people', records: [{ fields: { name: 'Cy' } }] } as const
    proxy.lose(3)
    const failed = session.perform('insert', input, { idempotencyKey: 'job-17' })
    await expect(failed).rejects.toMatchObject({ code: 'outcome_unknown', message: expect.stringContaining('may be stored') })
    const again = await session.perform('insert', input, { idempotencyKey: 'job-17' })
    const { records } = await near.get('people')
    expect(records.map(({ id }) => id).slice(2)).toEqual([again.records[0]?.id])
    proxy.lose(3)
    await expect(session.get('people')).rejects.toMatchObject({ code: 'unavailable' })
  })

  it('of a stream, which can be read only once, is an error at once', async () => {
    const { session, proxy, near, ids } = await scene()
    proxy.lose(1)
    const file = new Blob([content]).stream()
    await expect(session.uploadFile({ table: 'people', id: ids[0], column: 'scan', file })).rejects.toMatchObject({
      code: 'outcome_unknown',
    })
    expect(proxy.lost()).toBe(1)
    expect(await near.fileStatus('people', ids[0], 'scan')).toMatchObject({ fileStatus: 'UPLOADED' })
  })
})

/** What the vault shows of its records, their files and credentials. */
async function contents(session: CalledSession): Promise<unknown> {
  return Promise.all([
    session.get('people', { limit: 100, redaction: 'PLAIN_TEXT', returnFileMetadata: true }),
    session.listCredentials(),
  ])
}

/** Ids, tokens and times differ between two vaults. */
function shapeOf(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (name, member: unknown) => {
      if (name === 'tokens') return Object.keys(Object(member)).sort()
      return /^(id|ids|updatedAt|createdAt|keyId|actor)$/.test(name) ? typeof member : member
    }),
  )
}

describe('writes of the client', () => {
  it('are the operations that take an idempotency key', async () => {
    const { OPERATIONS } = await import('../../src/core/operations/operations.ts')
    const { batch } = await import('../../src/core/batch/run-batch.ts')
    const client = await import('../../src/client/connect-vault.ts')
    const once = Object.entries({ ...OPERATIONS, batch }).flatMap(([name, { once }]) => (once === undefined ? [] : [name]))
    const starred = Object.entries(client.OPERATIONS).flatMap(([name, members]) => (members.startsWith('*') ? [name] : []))
    expect(starred.sort()).toEqual(once.sort())
  })
})
