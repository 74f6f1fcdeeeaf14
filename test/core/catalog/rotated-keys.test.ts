/** Root keys with states: a vault that was open before another process added and activated a root key reads and writes on. */
import { describe, expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import type { KeyProvider, RootKeySet } from '../../../src/core/ports/crypto.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { readVersion, writeBodyHeader } from '../../../src/core/sealing/envelope.ts'
import { openVault } from '../../../src/core/vault/open-vault.ts'
import { column, defineSchema, type SignedCheckpoint } from '../../../src/index.ts'
import { SIGNING } from '../../support/audit/sample-trails.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { interposedStorage } from '../../support/storages/interposed-storage.ts'
import { addKey } from '../../support/vaults/planted-rotation.ts'
import { SYSTEM_PORTS } from '../../support/vaults/system-ports.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const TABLES = {
  things: {
    name: column.string({ redaction: 'PLAIN_TEXT', token: 'random', unique: true }),
    code: column.string({ redaction: 'PLAIN_TEXT', token: 'deterministic' }),
    brief: column.string({ redaction: 'PLAIN_TEXT', token: 'transient' }),
  },
}

const ROTATED: RootKeySet['roots'] = [
  { version: 1, state: 'lookup' },
  { version: 2, state: 'retired' },
  { version: 3, state: 'active' },
]

/** Keys that count how often a root key is unwrapped. */
function countingKeys() {
  const keys = localKeys({ key: TEST_SECRET })
  const counted = { unwrapped: 0 }
  const provider: KeyProvider = {
    wrap: (key, associatedData) => keys.wrap(key, associatedData),
    unwrap(wrapped, associatedData) {
      counted.unwrapped++
      return keys.unwrap(wrapped, associatedData)
    },
  }
  return { counted, provider }
}

function open(storage: StorageHandle, audit: 'on' | 'off' = 'on', keys = localKeys({ key: TEST_SECRET })) {
  return openVault({ ...SYSTEM_PORTS, id: 'v1', schema: defineSchema(TABLES), storage, audit, keys })
}

/** The versions of the root keys that the records are sealed with, by row id. */
async function sealedWith(storage: StorageHandle): Promise<number[]> {
  const rows = await storage.find('records_1_things', { kind: 'all' }, { order: 'asc', limit: 1000 })
  return rows.map(({ body }) => (body instanceof Uint8Array ? readVersion(body, 0, body.length) : 0))
}

for (const audit of ['on', 'off'] as const) {
  onEachStorage(`root keys of an open vault, audit ${audit},`, (engine) => {
    it('are found when another process has sealed with a new one', async () => {
      const place = engine.fresh()
      const earlier = (await open(place.open(), audit)).as(OWNER)
      const options = { tokenization: true }
      const first = await earlier.insert('things', [{ fields: { name: 'one', code: 'A', brief: 'x' } }], options)
      const other = place.open()
      await open(other, audit)
      await addKey(other, TABLES)
      const newer = (await open(place.open(), audit)).as(OWNER)
      const { records } = await newer.insert('things', [{ fields: { name: 'two', code: 'B', brief: 'y' } }], options)
      const { id = '', tokens } = records[0] ?? {}
      expect(await sealedWith(other)).toEqual([2, 3])
      const resolved = await earlier.detokenize([tokens?.name, tokens?.code, tokens?.brief].map((token = '') => ({ token })))
      expect(resolved.records.map(({ value }) => value)).toEqual(['two', 'B', 'y'])
      expect((await earlier.getOne('things', id)).fields).toMatchObject({ name: 'two', code: 'B' })
      expect((await earlier.get('things')).records.length).toBe(2)
      const found = await earlier.get('things', { where: { name: ['one', 'two'] } })
      expect(found.records.length).toBe(2)
      await earlier.updateOne('things', first.records[0]?.id ?? '', { code: 'C' })
      await earlier.insert('things', [{ fields: { name: 'three' } }])
      expect(await sealedWith(other)).toEqual([3, 3, 3])
      expect((await newer.get('things')).records.length).toBe(3)
      await expect(earlier.insert('things', [{ fields: { name: 'two' } }])).rejects.toMatchObject({ code: 'conflict' })
    })

    it('are found by calls that run as one and by changes that take turns', async () => {
      const place = engine.fresh()
      const earlier = (await open(place.open(), audit)).as(OWNER)
      const other = place.open()
      await open(other, audit)
      await addKey(other, TABLES)
      const newer = (await open(place.open(), audit)).as(OWNER)
      const names = Array.from({ length: 12 }, (_, n) => ({ fields: { name: `name ${n}`, code: `code ${n}` } }))
      const { records } = await newer.insert('things', names, { tokenization: true })
      const [hot = ''] = records.map(({ id }) => id)
      const changes = Array.from({ length: 12 }, (_, n) => [
        earlier.updateOne('things', hot, { code: `update ${n}` }),
        earlier.insert('things', [{ fields: { name: 'name 1', code: `upsert ${n}` } }], { upsert: 'name' }),
      ])
      const resolved = await Promise.all(records.map(({ tokens }) => earlier.detokenize([{ token: tokens.name ?? '' }])))
      expect(resolved.map((one) => one.records[0]?.value)).toEqual(names.map(({ fields }) => fields.name))
      const read = await Promise.all(records.slice(2).map(({ id }) => earlier.getOne('things', id)))
      expect(read.map(({ fields }) => fields.code)).toEqual(names.slice(2).map(({ fields }) => fields.code))
      await Promise.all(changes.flat())
      const { records: changed } = await newer.get('things', { ids: records.slice(0, 2).map(({ id }) => id) })
      expect(changed.map(({ fields }) => fields.code)).toEqual([
        expect.stringMatching(/^update /),
        expect.stringMatching(/^upsert /),
      ])
    })

    it('are found by what reads and revokes credentials', async () => {
      const place = engine.fresh()
      const earlier = await open(place.open(), audit)
      const other = place.open()
      await open(other, audit)
      await addKey(other, TABLES)
      const newer = await open(place.open(), audit)
      const verifier = 'a'.repeat(64)
      const { keyId } = await newer.as(OWNER).createCredential({ kind: 'API_KEY', name: 'new', roles: ['reader'], verifier })
      const found = await Promise.all([keyId, 'none', keyId, keyId].map(earlier.credentials.find))
      expect(found.map((one) => one?.name)).toEqual(['new', undefined, 'new', 'new'])
      const third = await open(place.open(), audit)
      expect((await earlier.as(OWNER).listCredentials()).credentials).toHaveLength(1)
      await earlier.as(OWNER).revokeCredential({ keyId })
      expect(await third.credentials.find(keyId)).toMatchObject({ revokedAt: expect.any(Number) })
    })

    it('are found by a verification of records', async () => {
      const place = engine.fresh()
      const earlier = await open(place.open(), audit)
      const other = place.open()
      await open(other, audit)
      await addKey(other, TABLES)
      await (await open(place.open(), audit)).as(OWNER).insert('things', [{ fields: { name: 'two', code: 'B', brief: 'y' } }])
      expect(await earlier.verifyRecords()).toMatchObject({ ok: true, findings: [] })
    })

    it('are read again before a change is committed, so that no body is sealed with a retired one', async () => {
      const place = engine.fresh()
      const vault = await open(place.open(), audit)
      await vault.as(OWNER).insert('things', [{ fields: { name: 'one' } }])
      const other = place.open()
      await open(other, audit)
      await addKey(other, TABLES)
      await vault.transaction(async (within) => {
        await within.as(OWNER).insert('things', [{ fields: { name: 'two' } }])
        await within.as(OWNER).insert('things', [{ fields: { name: 'three' } }])
      })
      await Promise.all([4, 5, 6].map((n) => vault.as(OWNER).insert('things', [{ fields: { name: `${n}` } }])))
      expect(await sealedWith(other)).toEqual([2, 3, 3, 3, 3, 3])
    })

    it('are read again for a change that was sealed before another call read them', async () => {
      const place = engine.fresh()
      const { storage, interpose } = interposedStorage(place.open())
      const session = (await open(storage, audit)).as(OWNER)
      const { records } = await session.insert('things', [{ fields: { name: 'one' } }, { fields: { name: 'two' } }])
      const [first = '', second = ''] = records.map(({ id }) => id)
      const other = place.open()
      await open(other, audit)
      const isDone = interpose({
        isDue: ({ method }) => method === 'begin',
        async work() {
          await addKey(other, TABLES)
          await session.updateOne('things', second, { name: 'TWO' })
        },
      })
      await session.updateOne('things', first, { name: 'ONE' })
      expect(isDone()).toBe(true)
      expect(await sealedWith(other)).toEqual([3, 3])
    })

    it('do not seal while they are pending', async () => {
      const place = engine.fresh()
      const vault = await open(place.open(), audit)
      const other = place.open()
      await open(other, audit)
      await addKey(other, TABLES, { isActivated: false })
      for (const one of [vault, await open(place.open(), audit)])
        await one.as(OWNER).insert('things', [{ fields: { code: 'x' } }])
      expect(await sealedWith(other)).toEqual([2, 2])
    })
  })
}

onEachStorage('the audit trail across root keys', (engine) => {
  it('is read, extended, verified and exported by a vault that was open before', async () => {
    const place = engine.fresh()
    const earlier = await open(place.open())
    await earlier.as(OWNER).insert('things', [{ fields: { name: 'one' } }])
    const other = place.open()
    await open(other)
    await addKey(other, TABLES)
    const newer = await open(place.open())
    await newer.as(OWNER).insert('things', [{ fields: { name: 'two' } }])
    const { ok, eventCount } = await earlier.verifyAudit()
    expect([ok, eventCount]).toEqual([true, 2])
    expect((await earlier.as(OWNER).listEvents({ filterOps: { accountID: 'v1' } })).events.length).toBe(2)
    let lines = 0
    for await (const _ of earlier.exportAudit()) lines++
    expect(lines).toBeGreaterThan(3)
    const signed = await earlier.checkpointAudit({ signer: SIGNING.signer })
    expect(signed.checkpoint.keys).toEqual({ generation: 4, lookupVersion: 1, roots: ROTATED })
    expect((await newer.verifyAudit({ checkpoints: [signed] })).ok).toBe(true)
  })
})

describe('reading the catalog again', () => {
  it('unwraps root keys only if they changed, and once for many callers', async () => {
    const storage = memoryStorage()
    const { counted, provider } = countingKeys()
    const vault = await open(storage, 'on', provider)
    await vault.as(OWNER).insert('things', [{ fields: { name: 'one' } }])
    expect(counted.unwrapped).toBe(1)
    const wider = defineSchema({ ...TABLES, more: { a: column.string() } })
    await openVault({ ...SYSTEM_PORTS, id: 'v1', schema: wider, storage, keys: localKeys({ key: TEST_SECRET }) })
    await vault.as(OWNER).insert('things', [{ fields: { name: 'two' } }])
    expect(counted.unwrapped).toBe(1)
    await addKey(storage, TABLES)
    await Promise.all(Array.from({ length: 20 }, (_, n) => vault.as(OWNER).insert('things', [{ fields: { name: `n${n}` } }])))
    expect(counted.unwrapped).toBe(2)
  })

  it('leaves a body whose key is not in the catalog unreadable, and its siblings readable', async () => {
    const storage = memoryStorage()
    const vault = await open(storage)
    const { records } = await vault.as(OWNER).insert('things', [{ fields: { name: 'one' } }, { fields: { name: 'two' } }], {
      tokenization: true,
    })
    const [row] = await storage.get('records_1_things', [1])
    const body = Uint8Array.from(row?.body instanceof Uint8Array ? row.body : [])
    body.set(writeBodyHeader(9))
    await storage.update('records_1_things', [{ id: 1, version: row?.version ?? 0, set: { body } }])
    await expect(vault.as(OWNER).getOne('things', records[0]?.id ?? '')).rejects.toMatchObject({ code: 'data_loss' })
    const tokens = records.map((record) => ({ token: record.tokens.name ?? '' }))
    const resolved = await vault.as(OWNER).detokenize(tokens, { continueOnError: true })
    expect(resolved.records.map(({ value }) => value)).toEqual(['', 'two'])
    expect(resolved.records[0]?.error).toContain('failed authentication')
  })

  it('refuses a catalog that lost a root key, and ignores one that its sealed entry does not list', async () => {
    const storage = memoryStorage()
    await open(storage)
    await addKey(storage, TABLES)
    await storage.insert('catalog', [{ id: 99, entry: 'root/7', key_id: 'other', content: new Uint8Array(60) }])
    await open(storage)
    for (const entry of ['ring', 'root/3']) {
      const filter = { kind: 'compare', column: 'entry', operator: '=', value: entry } as const
      await storage.delete('catalog', { filter })
      await expect(open(storage)).rejects.toMatchObject({ code: 'data_loss', message: expect.stringContaining('root key') })
    }
  })
})

describe('a checkpoint', () => {
  it('of a later generation shows that the catalog is an older copy', async () => {
    const storage = memoryStorage()
    const vault = await open(storage)
    await vault.as(OWNER).insert('things', [{ fields: { name: 'one' } }])
    const signed = await vault.checkpointAudit({ signer: SIGNING.signer })
    const { keys, ...rest } = signed.checkpoint
    const later: SignedCheckpoint = { ...signed, checkpoint: { ...rest, keys: { ...keys, generation: keys.generation + 1 } } }
    expect((await vault.verifyAudit({ checkpoints: [signed] })).ok).toBe(true)
    expect(await vault.verifyAudit({ checkpoints: [later] })).toMatchObject({
      ok: false,
      firstFailure: { reason: 'The catalog is older than a checkpoint.' },
    })
  })
})
