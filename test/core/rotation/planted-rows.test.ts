/** A writer of the database who puts back older rows of keys, or plants new ones: no key is lost, none lives on, and nothing is in the way for ever. */
import { expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import type { KeyProvider } from '../../../src/core/ports/crypto.ts'
import type { Row, Storage } from '../../../src/core/ports/storage.ts'
import { CATALOG, MAINTENANCE, MARKER } from '../../../src/core/schema/system-tables.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { fillRotating, leftBehind, missingIn, openRotating } from '../../support/vaults/rotating-vault.ts'
import { TEST_SECRET } from '../../support/vaults/test-vault.ts'

const KEYS = localKeys({ key: TEST_SECRET })

/** Returns the rows of a table. */
function rowsOf(storage: Storage, table: string): Promise<readonly Row[]> {
  return storage.find(table, { kind: 'all' }, { order: 'asc', limit: 100 })
}

/** Puts older rows of a table back, whatever has become of them. */
async function putBack(storage: Storage, table: string, older: readonly Row[]): Promise<void> {
  const ids = (await rowsOf(storage, table)).map(({ id }) => id)
  await storage.transaction(async (inner) => {
    await inner.delete(table, { ids })
    await inner.insert(
      table,
      older.map(({ version: _, ...row }) => row),
    )
  })
}

/** Plants a row of a root key. */
async function plantRoot(storage: Storage, version: number, { key_id, content }: Omit<Row, 'id' | 'version'>): Promise<void> {
  const [id = 0] = await storage.reserveIds(CATALOG.name, 1)
  await storage.insert(CATALOG.name, [{ id, entry: `root/${version}`, key_id: key_id ?? null, content: content ?? null }])
}

onEachStorage('a planted row', (engine) => {
  it('of the older root keys, from before a rotation, is not stored again without the key that came since', async () => {
    const place = engine.fresh()
    const storage = place.open()
    const vault = await openRotating(place.open())
    const filled = await fillRotating(vault, 5)
    await openRotating(storage)
    const before = (await rowsOf(storage, CATALOG.name)).find(({ entry }) => entry === 'ring')
    await vault.rotateKeys()
    await vault.rotateKeys()
    const now = (await rowsOf(storage, CATALOG.name)).find(({ entry }) => entry === 'ring')
    const put = async (row: Row | undefined) => {
      const current = (await rowsOf(storage, CATALOG.name)).find(({ entry }) => entry === 'ring')
      if (row === undefined || current === undefined) throw new Error('the entry of the older root keys is missing')
      await storage.update(CATALOG.name, [{ id: row.id, version: current.version, set: { content: row.content ?? null } }])
    }
    await put(before)
    await expect(vault.rotateKeys()).rejects.toMatchObject({
      code: 'data_loss',
      message: expect.stringContaining('an older copy'),
    })
    await expect(vault.destroyKey(2, { losing: 1 })).rejects.toMatchObject({ code: 'data_loss' })
    await put(now)
    const fresh = await openRotating(place.open())
    expect(await fresh.rotateKeys()).toMatchObject({ version: 5, complete: true })
    expect([...(await leftBehind(fresh)), ...(await missingIn(fresh, filled))]).toEqual([])
  })

  it('of the whole catalog and the marker, from before a rotation, is found by the heads of the trail', async () => {
    const place = engine.fresh()
    const storage = place.open()
    await openRotating(storage)
    const vault = await openRotating(place.open())
    await fillRotating(vault, 5)
    const [catalog, marker] = [await rowsOf(storage, CATALOG.name), await rowsOf(storage, MARKER.name)]
    await vault.rotateKeys()
    await putBack(storage, CATALOG.name, catalog)
    await putBack(storage, MARKER.name, marker)
    const older = { code: 'data_loss', message: expect.stringContaining('its catalog is an older copy than its records') }
    await expect(openRotating(place.open())).rejects.toMatchObject(older)
    // An open vault leaves heads to verifyAudit, and cannot record what it does.
    await expect(vault.rotateKeys()).rejects.toMatchObject({ code: 'aborted' })
    expect((await vault.verifyAudit()).ok).toBe(false)
  })

  it('of a root key is neither wrapped again nor in the way of the next one', async () => {
    const place = engine.fresh()
    const storage = place.open()
    await openRotating(storage)
    const own = (await rowsOf(storage, CATALOG.name)).find(({ entry }) => entry === 'root/2')
    if (own === undefined) throw new Error('the wrapped root key is missing')
    const ownId = String(own.key_id)
    const keys: KeyProvider = {
      currentKeyId: async () => 'the next',
      wrap: async (key, data) => ({ ...(await KEYS.wrap(key, data)), keyId: 'the next' }),
      unwrap: (wrapped, data) => KEYS.unwrap({ ...wrapped, keyId: ownId }, data),
    }
    const vault = await openRotating(place.open(), { keys })
    await vault.rotateKeys()
    await vault.destroyKey(2)
    await plantRoot(storage, 2, own)
    await plantRoot(storage, 4, { key_id: 'planted', content: new Uint8Array(3) })
    expect(await vault.rewrapKeys()).toEqual({ rewrapped: 0, keyIds: ['the next'] })
    const planted = (await rowsOf(storage, CATALOG.name)).find(({ entry }) => entry === 'root/2')
    expect(planted?.key_id).toBe(ownId)
    expect(await vault.rotateKeys()).toMatchObject({ version: 4, complete: true })
  })

  it('of a rotation with a lease that does not end, as of a clock that was wrong, is taken over', async () => {
    const place = engine.fresh()
    const storage = place.open()
    const vault = await openRotating(storage)
    const [id = 0] = await storage.reserveIds(MAINTENANCE.name, 1)
    const row = { id, job: 'rotateKeys', lease_until: Number.MAX_SAFE_INTEGER, body: new Uint8Array(9) }
    await storage.insert(MAINTENANCE.name, [row])
    expect(await vault.rotateKeys()).toMatchObject({ version: 3, complete: true })
    // A year ahead, and ended early.
    const ahead = await openRotating(place.open(), { aheadMs: 365 * 86_400_000 })
    const stop = new Error('stop')
    const onProgress = async () => {
      expect((await vault.maintenance()).map(({ isOverdue }) => isOverdue)).toEqual([true])
      throw stop
    }
    await expect(ahead.rotateKeys({ onProgress })).rejects.toBe(stop)
    expect(await vault.rotateKeys()).toMatchObject({ version: 4, complete: true })
  })
})
