/** Rotation of the root key that seals: by its result, beside readers and writers, from wherever it ended, and what becomes of the key before. */
import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import type { KeyProvider } from '../../../src/core/ports/crypto.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { fillRotating, openRotating } from '../../support/vaults/rotating-vault.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

onEachStorage('a rotation of keys', (engine) => {
  it('seals everything again, and the key before can be destroyed', async () => {
    const place = engine.fresh()
    const vault = await openRotating(place.open())
    const { ids, tokens: made, keyId } = await fillRotating(vault)
    const id = ids[0] ?? ''
    const earlier = await openRotating(place.open())
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
    for (const one of [earlier, vault, await openRotating(place.open())]) {
      const session = one.as(OWNER)
      expect((await session.getOne('people', id)).fields).toMatchObject({ email: 'p0@acme.example', name: 'name 0' })
      const tokens = made.slice(0, 3).flatMap(({ name, email, pin }) => [name, email, pin])
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
    const openWith = (keys: KeyProvider) => openRotating(place.open(), { keys })
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
