/** Look-ups of credentials that are asked for in one turn: how many reads they take, and that each request is as it is by itself. */
import { generateKeyPairSync } from 'node:crypto'
import { expect, it } from 'vitest'
import { CREDENTIALS } from '../../../src/core/schema/system-tables.ts'
import { at } from '../../../src/core/util/lists.ts'
import { apiKeys, createApiKey, createHandler, serviceAccounts } from '../../../src/http/index.ts'
import { isVaultError, type Vault } from '../../../src/index.ts'
import type { Row, StorageHandle } from '../../../src/storage-port.ts'
import { type Clients, openClients } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { faultyStorage } from '../../support/storages/faulty-storage.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const { n = '' } = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' })
const PUBLIC_KEY = JSON.stringify({ kty: 'RSA', n, e: 'AQAB' })
const HOUR = 60 * 60_000
const READER = { name: 'nightly', roles: ['VAULT_OWNER'] } as const

/** Returns a function that asks over HTTP, and returns the status. */
function serve(vault: Vault<Clients>): (credential: string) => Promise<number> {
  const handler = createHandler({ vaults: vault, authenticate: [apiKeys(), serviceAccounts()] })
  return async (credential) => {
    const headers = { authorization: `Bearer ${credential}` }
    const response = await handler(new Request('http://vault.example/v1/vaults/v1/clients?limit=1', { headers }))
    await response.arrayBuffer()
    return response.status
  }
}

/** Opens a vault, and returns it with a function that counts the reads of credentials of some work. */
async function counted(handle: StorageHandle) {
  const { storage, fail } = faultyStorage(handle)
  let reads = 0
  fail(({ method, table }) => {
    if (method === 'find' && table === CREDENTIALS.name) reads++
    return undefined
  })
  const vault = await openClients(storage)
  const readsOf = async (work: () => Promise<unknown>): Promise<number> => {
    reads = 0
    await work()
    return reads
  }
  return { vault, readsOf }
}

/** Makes API keys. */
function makeKeys(vault: Vault<Clients>, count: number) {
  return Promise.all(Array.from({ length: count }, () => createApiKey(vault.as(OWNER), READER)))
}

/** Runs `callers` loops of ten calls each. */
async function loops<T>(callers: number, call: (caller: number) => Promise<T>): Promise<T[]> {
  const results: T[] = []
  const loop = async (_: unknown, caller: number) => {
    for (let round = 0; round < 10; round++) results.push(await call(caller))
  }
  await Promise.all(Array.from({ length: callers }, loop))
  return results
}

/** A storage that remembers the rows of credentials, as a cache of a process would: what the race of revocations has to find. */
function remembering(sound: StorageHandle): StorageHandle {
  const known = new Map<string, Row>()
  const keyOf = (digest: unknown) => Buffer.from(digest as Uint8Array).toString('hex')
  return {
    ...sound,
    async find(table, filter, page) {
      if (table !== CREDENTIALS.name || filter.kind !== 'in') return sound.find(table, filter, page)
      const remembered = filter.values.flatMap((digest) => known.get(keyOf(digest)) ?? [])
      if (remembered.length === filter.values.length) return remembered
      const rows = await sound.find(table, filter, page)
      for (const row of rows) known.set(keyOf(row.digest), row)
      return rows
    },
  }
}

/** Revokes keys in one process while requests with all of them run in another. Returns how many were accepted that began after the revocation. */
async function raceRevocations(revoking: Vault<Clients>, serving: Vault<Clients>): Promise<{ before: number; accepted: number }> {
  const keys = await makeKeys(revoking, 12)
  const ask = serve(serving)
  const steady = at(keys, 0)
  let isOver = false
  const load = Array.from({ length: 8 }, async () => {
    while (!isOver) expect(await ask(steady.apiKey)).toBe(200)
  })
  const all = { before: 0, accepted: 0 }
  const askAll = async (key: string) => (await Promise.all(Array.from({ length: 8 }, () => ask(key)))).filter((is) => is === 200)
  for (const { keyId, apiKey } of keys.slice(1)) {
    expect(await ask(apiKey)).toBe(200)
    const racing = askAll(apiKey)
    await revoking.as(OWNER).revokeCredential({ keyId })
    all.accepted += (await askAll(apiKey)).length
    all.before += (await racing).length
  }
  isOver = true
  await Promise.all(load)
  return all
}

onEachStorage('look-ups of credentials', (engine) => {
  it('of 64 requests at once are at most 0.2 reads a request, with one key, with 64 keys, and with bearers', async () => {
    const { vault, readsOf } = await counted(engine.fresh().open())
    const keys = await makeKeys(vault, 64)
    const ask = serve(vault)
    const account = { ...READER, kind: 'SERVICE_ACCOUNT', verifier: PUBLIC_KEY } as const
    const { keyId } = await vault.as(OWNER).createCredential(account)
    const issue = (caller: number) => {
      const assertion = { text: `assertion ${caller}`, expiresAt: Date.now() + HOUR }
      return vault.credentials.issueBearer({ keyId, assertion })
    }
    const bearers = await Promise.all(Array.from({ length: 64 }, (_, caller) => issue(caller)))
    const kinds = {
      'one key': () => at(keys, 0).apiKey,
      '64 keys': (caller: number) => at(keys, caller).apiKey,
      bearers: (caller: number) => at(bearers, caller).bearer,
    }
    for (const [kind, of] of Object.entries(kinds)) {
      const reads = await readsOf(async () => {
        const statuses = await loops(64, (caller) => ask(of(caller)))
        expect(new Set(statuses)).toEqual(new Set([200]))
      })
      expect(reads / 640, kind).toBeLessThanOrEqual(0.2)
    }
  })

  it('of one request alone are one read', async () => {
    const { vault, readsOf } = await counted(engine.fresh().open())
    const { apiKey } = at(await makeKeys(vault, 1), 0)
    const ask = serve(vault)
    expect(await readsOf(() => loops(1, () => ask(apiKey)))).toBe(10)
  })

  it('of one turn see each revocation that ended before they began, also by another process', async () => {
    const place = engine.fresh()
    const raced = await raceRevocations(await openClients(place.open()), await openClients(place.open()))
    expect(raced.accepted).toBe(0)
    const planted = await raceRevocations(await openClients(place.open()), await openClients(remembering(place.open())))
    expect(planted.accepted).toBeGreaterThan(0)
  })

  it('of one turn are refused for a row that does not open by those alone who ask for it', async () => {
    const place = engine.fresh()
    const { vault, readsOf } = await counted(place.open())
    const keys = await makeKeys(vault, 16)
    const storage = place.open()
    await storage.prepare([CREDENTIALS])
    const row = at(await storage.find(CREDENTIALS.name, { kind: 'all' }, { order: 'asc', limit: 1 }), 0)
    await storage.update(CREDENTIALS.name, [{ id: row.id, version: row.version, set: { body: new Uint8Array(300) } }])
    const ends = new Map<string, unknown>()
    const find = async (keyId: string) => ends.set(keyId, await vault.credentials.find(keyId).catch((error: unknown) => error))
    const reads = await readsOf(() => Promise.all([...keys, ...keys].map(({ keyId }) => find(keyId))))
    expect(reads).toBe(1)
    expect([...ends.values()].filter((end) => isVaultError(end, 'data_loss'))).toHaveLength(1)
    for (const [keyId, end] of ends) if (!isVaultError(end)) expect(end).toMatchObject({ keyId, isValid: true })
  })

  it('that fail together run again, each by itself', async () => {
    const { storage, fail, mend } = faultyStorage(engine.fresh().open())
    const vault = await openClients(storage)
    const keys = await makeKeys(vault, 8)
    fail(({ table }) => {
      mend()
      return table === CREDENTIALS.name ? new Error('the statement failed') : undefined
    })
    const found = await Promise.all(keys.map(({ keyId }) => vault.credentials.find(keyId)))
    expect(found.map((one) => one?.keyId)).toEqual(keys.map(({ keyId }) => keyId))
  })

  it('of one turn share nothing that a caller can change', async () => {
    const vault = await openClients(engine.fresh().open())
    const { keyId } = await createApiKey(vault.as(OWNER), { ...READER, context: { country: 'SE' } })
    const [one, two] = await Promise.all([vault.credentials.find(keyId), vault.credentials.find(keyId)])
    expect(one).toEqual(two)
    expect(one?.roles).not.toBe(two?.roles)
    expect(one?.context).not.toBe(two?.context)
  })

  it('of more names than one read looks up are several', async () => {
    const { vault, readsOf } = await counted(engine.fresh().open())
    const names = Array.from({ length: 600 }, (_, index) => `unknown ${index}`)
    const reads = await readsOf(() => Promise.all(names.map(vault.credentials.find)))
    expect(reads).toBe(3)
  })
})
