/** What a destroyed key leaves: every process works on, a row from before names it, and a backup opens only with the key that wrapped it then. */
import { copyFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { onEachStorage, sqliteEngine } from '../../support/storages/engines.ts'
import { openStorage } from '../../support/storages/open-storage.ts'
import { fillRotating, missingIn, openRotating } from '../../support/vaults/rotating-vault.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const OTHER_SECRET = Buffer.from(Array.from({ length: 32 }, (_, n) => (n * 37 + 11) % 256)).toString('base64')

onEachStorage('a key that was destroyed', (engine) => {
  it('is missed by no process, and named with its date by a record from before', async () => {
    const place = engine.fresh()
    const [old, idle, vault] = [
      await openRotating(place.open()),
      await openRotating(place.open(), { audit: 'off' }),
      await openRotating(place.open()),
    ]
    const filled = await fillRotating(old, 30)
    const storage = place.open()
    await openRotating(storage)
    const [before] = await storage.get('records_1_people', [1])
    await expect(vault.destroyKey(2)).rejects.toThrow('failed. Root key 2 is active: rotate first. Only a retired one')
    await expect(vault.destroyKey(1)).rejects.toThrow('failed. Root key 1 is the one that looks up, which is never replaced.')
    await expect(vault.destroyKey(9)).rejects.toThrow('failed. The vault has no such root key. vault.keys() lists them.')
    await vault.rotateKeys()
    await expect(vault.destroyKey(2, { losing: 1 })).rejects.toThrow(
      'still seals 0 bodies (none), and losing must be their number.',
    )
    await vault.destroyKey(2)
    await expect(vault.destroyKey(2)).rejects.toThrow('failed. Root key 2 was destroyed before.')
    for (const one of [old, idle, vault, await openRotating(place.open())]) expect(await missingIn(one, filled)).toEqual([])
    const [now] = await storage.get('records_1_people', [1])
    await storage.update('records_1_people', [{ id: 1, version: now?.version ?? 0, set: { body: before?.body ?? null } }])
    const date = new Date().toISOString().slice(0, 10)
    for (const one of [old, idle, vault, await openRotating(place.open())])
      await expect(one.as(OWNER).getOne('people', filled.ids[0] ?? '')).rejects.toMatchObject({
        code: 'data_loss',
        message: expect.stringMatching(new RegExp(`root key 2, which sealed it, was destroyed on ${date}`)),
      })
    expect((await vault.as(OWNER).getOne('people', filled.ids[1] ?? '')).fields.name).toBe('name 1')
  })
})

const engine = sqliteEngine()

it('a whole backup opens with the key that wrapped it then, and not with the one after a rewrap', async () => {
  const place = engine.fresh()
  const { filename } = place.address()
  const writing = place.open()
  const vault = await openRotating(writing)
  const filled = await fillRotating(vault, 30)
  await vault.close()
  const backup = `${filename}.before`
  copyFileSync(filename, backup)
  const both = localKeys({ key: OTHER_SECRET, olderKeys: [TEST_SECRET] })
  const next = await openRotating(openStorage(place.address()), { keys: both })
  expect(await next.rewrapKeys()).toMatchObject({ rewrapped: 1 })
  await next.rotateKeys()
  await next.destroyKey(2)
  await next.close()
  const only = localKeys({ key: OTHER_SECRET })
  const opened = await openRotating(openStorage(place.address()), { keys: only })
  expect(await missingIn(opened, filled)).toEqual([])
  await opened.close()
  const old = openStorage({ engine: 'sqlite', filename: backup })
  await expect(openRotating(old, { keys: only })).rejects.toMatchObject({ code: 'failed_precondition' })
  const restored = await openRotating(old)
  expect(await missingIn(restored, filled)).toEqual([])
  await restored.close()
})
