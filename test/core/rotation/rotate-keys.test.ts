/** Rotation of the root key that seals: by its result, beside readers and writers, from wherever it ended, and what becomes of the key before. */
import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import type { KeyProvider } from '../../../src/core/ports/crypto.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { openVault } from '../../../src/core/vault/open-vault.ts'
import { column, defineSchema, type Vault } from '../../../src/index.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { SYSTEM_PORTS } from '../../support/vaults/system-ports.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const TABLES = {
  people: {
    email: column.string({ redaction: 'PLAIN_TEXT', token: 'deterministic', unique: true }),
    name: column.string({ redaction: 'PLAIN_TEXT', token: 'random' }),
    pin: column.string({ redaction: 'PLAIN_TEXT', token: 'transient' }),
    city: column.string({ encrypted: false, redaction: 'PLAIN_TEXT' }),
    scan: column.file({ redaction: 'PLAIN_TEXT' }),
  },
  others: { a: column.string({ redaction: 'PLAIN_TEXT' }) },
}
const KEYS = localKeys({ key: TEST_SECRET })

function open(storage: StorageHandle, audit: 'on' | 'off' = 'on') {
  return openVault({ ...SYSTEM_PORTS, id: 'v1', schema: defineSchema(TABLES), storage, audit, keys: KEYS })
}

/** Stores something of each kind that is sealed. */
async function fill(vault: Vault<typeof TABLES>) {
  const session = vault.as(OWNER)
  const fields = Array.from({ length: 300 }, (_, n) => ({
    fields: { email: `p${n}@acme.example`, name: `name ${n}`, pin: `${n}`, city: 'Bonn' },
  }))
  const { records } = await session.insert('people', fields, { tokenization: true })
  await session.insert('others', [{ fields: { a: 'one' } }])
  const id = records[0]?.id ?? ''
  await session.uploadFile({ table: 'people', column: 'scan', id, file: new Blob(['content of a file']), fileName: 'a.txt' })
  const { keyId } = await session.createCredential({ kind: 'API_KEY', name: 'k', roles: ['r'], verifier: 'a'.repeat(64) })
  return { records, id, keyId }
}

onEachStorage('a rotation of keys', (engine) => {
  it('seals everything again, and the key before can be destroyed', async () => {
    const place = engine.fresh()
    const vault = await open(place.open())
    const { records, id, keyId } = await fill(vault)
    const earlier = await open(place.open())
    const rotation = await vault.rotateKeys()
    expect(rotation).toMatchObject({ version: 3, unreadable: 0, complete: true })
    const report = await vault.keys({ count: true })
    expect(report.isRotating).toBe(false)
    expect(report.keys.map(({ version, state, bodies }) => [version, state, Object.keys(bodies ?? {}).length > 0])).toEqual([
      [1, 'lookup', false],
      [2, 'retired', false],
      [3, 'active', true],
    ])
    expect(await vault.destroyKey(2)).toEqual({ version: 2, lost: 0 })
    for (const one of [earlier, vault, await open(place.open())]) {
      const session = one.as(OWNER)
      expect((await session.getOne('people', id)).fields).toMatchObject({ email: 'p0@acme.example', name: 'name 0' })
      const tokens = records.slice(0, 3).flatMap((record) => [record.tokens.name, record.tokens.email, record.tokens.pin])
      const resolved = await session.detokenize(tokens.map((token = '') => ({ token })))
      expect(resolved.records.map(({ value }) => value).slice(0, 3)).toEqual(['name 0', 'p0@acme.example', '0'])
      const opened = await session.openFile('people', id, 'scan')
      expect(await new Response(ReadableStream.from(opened.stream)).text()).toBe('content of a file')
      expect(await one.credentials.find(keyId)).toMatchObject({ name: 'k' })
      await expect(session.insertOne('people', { email: 'p7@acme.example' })).rejects.toMatchObject({ code: 'conflict' })
      expect((await one.verifyRecords()).ok).toBe(true)
      expect((await one.verifyAudit()).ok).toBe(true)
    }
    expect((await vault.keys()).destroyed).toEqual([{ version: 2, at: expect.any(Number) }])
    expect((await vault.keys()).stragglers).toEqual([])
    await expect(vault.destroyKey(3)).rejects.toMatchObject({ code: 'failed_precondition' })
    await expect(vault.destroyKey(1)).rejects.toMatchObject({ code: 'failed_precondition' })
    await expect(vault.destroyKey(2)).rejects.toMatchObject({ code: 'failed_precondition' })
  })
})

onEachStorage('wrapping again', (engine) => {
  it('opens with the new key-encryption key and not with the old one, and an open vault does not notice', async () => {
    const place = engine.fresh()
    const [key = '', older = ''] = [randomBytes(32), randomBytes(32)].map((bytes) => bytes.toString('base64'))
    const openWith = (keys: KeyProvider) =>
      openVault({ ...SYSTEM_PORTS, id: 'v1', schema: defineSchema(TABLES), storage: place.open(), keys })
    const before = await openWith(localKeys({ key: older }))
    const { id } = await before.as(OWNER).insertOne('others', { a: 'one' })
    const ring = await openWith(localKeys({ key, olderKeys: [older] }))
    expect(await ring.rewrapKeys()).toMatchObject({ rewrapped: 1, keyIds: [expect.stringMatching(/^[0-9a-f]{16}$/)] })
    expect(await ring.rewrapKeys()).toMatchObject({ rewrapped: 0 })
    await expect(openWith(localKeys({ key: older }))).rejects.toMatchObject({ code: 'failed_precondition' })
    for (const one of [before, await openWith(localKeys({ key }))])
      expect((await one.as(OWNER).getOne('others', id)).fields.a).toBe('one')
    const actions = (await ring.as(OWNER).listEvents({ filterOps: { accountID: 'v1' } })).events.map(
      ({ request }) => request.actionType,
    )
    expect(actions.filter((action) => action === 'REWRAP_KEYS')).toHaveLength(1)
  })
})
