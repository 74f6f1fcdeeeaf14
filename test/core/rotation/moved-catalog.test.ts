/** Changes of keys beside other changes of the catalog: no key that another process added is dropped, none that it destroyed is listed again. */
import { expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { CATALOG_MOVED } from '../../../src/core/barrier/barrier.ts'
import { type Catalog, openCatalog } from '../../../src/core/catalog/open-catalog.ts'
import type { KeyProvider } from '../../../src/core/ports/crypto.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { activateRootKey, addRootKey, changeKeys, removeRootKey } from '../../../src/core/rotation/change-keys.ts'
import { openVault } from '../../../src/core/vault/open-vault.ts'
import { column, defineSchema } from '../../../src/index.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import type { Place } from '../../support/storages/places.ts'
import { addKey } from '../../support/vaults/planted-rotation.ts'
import { fillRotating, leftBehind, missingIn, openRotating, ROTATING_TABLES } from '../../support/vaults/rotating-vault.ts'
import { SYSTEM_PORTS } from '../../support/vaults/system-ports.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const KEYS = localKeys({ key: TEST_SECRET })

/** Adds a key after a rotation, by a provider that takes long. Meanwhile another process destroys the key before, and this one reads the catalog again. */
async function addSlowly(place: Place, seenAs: (catalog: Catalog) => Catalog): Promise<void> {
  const storage = place.open()
  const other = await openRotating(place.open())
  await other.rotateKeys()
  let isBusy = false
  const slow: KeyProvider = {
    unwrap: (wrapped, associatedData) => KEYS.unwrap(wrapped, associatedData),
    async wrap(key, associatedData) {
      if (!isBusy) {
        isBusy = true
        await other.destroyKey(2)
        await catalog.reload(storage)
      }
      return KEYS.wrap(key, associatedData)
    },
  }
  const ports = { ...SYSTEM_PORTS, storage, keys: slow, vaultId: 'v1' }
  const catalog = await openCatalog(ports, 'v1', ROTATING_TABLES)
  await changeKeys(ports, catalog, () => addRootKey(ports, seenAs(catalog)))
}

onEachStorage('a key that is added while another process destroys one', (engine) => {
  it('leaves that destroyed, and the newer one in its place', async () => {
    const place = engine.fresh()
    const filled = await fillRotating(await openRotating(place.open()), 30)
    await addSlowly(place, (catalog) => catalog)
    const fresh = await openRotating(place.open())
    expect((await fresh.keys()).keys.map(({ version, state }) => [version, state])).toEqual([
      [1, 'lookup'],
      [3, 'active'],
      [4, 'pending'],
    ])
    expect(await fresh.rotateKeys()).toMatchObject({ version: 4, complete: true })
    expect([...(await leftBehind(fresh)), ...(await missingIn(fresh, filled))]).toEqual([])
  })

  it('would leave a vault that does not open if it were from an older state, which this test finds', async () => {
    const place = engine.fresh()
    await fillRotating(await openRotating(place.open()), 5)
    const adding = addSlowly(place, (catalog) => ({
      ...catalog,
      get state() {
        return catalog.state
      },
      store: (storage, change, work) => catalog.store(storage, { ...change, from: catalog.state }, work),
    }))
    await expect(adding).rejects.toMatchObject({ code: 'data_loss' })
    await expect(openRotating(place.open())).rejects.toMatchObject({ code: 'data_loss' })
  })
})

onEachStorage('the activation of a key', (engine) => {
  it('changes nothing if it is active, and is refused if a later one replaced it', async () => {
    const place = engine.fresh()
    const storage = place.open()
    const filled = await fillRotating(await openRotating(storage), 5)
    await addKey(storage, ROTATING_TABLES)
    const ports = { ...SYSTEM_PORTS, storage, keys: KEYS, vaultId: 'v1' }
    const catalog = await openCatalog(ports, 'v1', ROTATING_TABLES)
    const { state: from } = catalog
    const activate = (version: number) => activateRootKey(ports, catalog, { from, version, tables: [], waitMs: 1000 })
    await activate(3)
    await expect(activate(2)).rejects.toMatchObject({ code: 'aborted' })
    const fresh = await openRotating(place.open())
    expect((await fresh.keys()).keys.map(({ state }) => state)).toEqual(['lookup', 'retired', 'active'])
    expect(await missingIn(fresh, filled)).toEqual([])
  })
})

onEachStorage('a change of keys after another process rotated', (engine) => {
  it('finds no damage in a catalog that is only newer', async () => {
    const place = engine.fresh()
    const storage = place.open()
    const other = await openRotating(place.open())
    await fillRotating(other, 5)
    await other.rotateKeys()
    const ports = { ...SYSTEM_PORTS, storage, keys: KEYS, vaultId: 'v1' }
    const catalog = await openCatalog(ports, 'v1', ROTATING_TABLES)
    await other.rotateKeys()
    await changeKeys(ports, catalog, () => removeRootKey(ports, catalog, 2, 0))
    await changeKeys(ports, catalog, () => addRootKey(ports, catalog))
    const { state: from } = catalog
    await other.rotateKeys()
    await expect(activateRootKey(ports, catalog, { from, version: 5, tables: [], waitMs: 1000 })).rejects.toBe(CATALOG_MOVED)
    expect((await other.keys()).keys.map(({ version }) => version)).toEqual([1, 3, 4, 5])
    expect(await leftBehind(other)).toEqual([])
  })
})

onEachStorage('a table that only another process knows', (engine) => {
  it('is counted and sealed again too', async () => {
    const place = engine.fresh()
    const vault = await openRotating(place.open())
    await fillRotating(vault, 5)
    const more = { ...ROTATING_TABLES, more: { a: column.string({ redaction: 'PLAIN_TEXT' }) } }
    const openWider = (storage: StorageHandle) =>
      openVault({ ...SYSTEM_PORTS, id: 'v1', schema: defineSchema(more), storage, keys: KEYS })
    const wider = await openWider(place.open())
    const { id } = await wider.as(OWNER).insertOne('more', { a: 'one' })
    expect((await vault.keys({ count: true })).keys[1]?.bodies).toMatchObject({ more: 1 })
    await vault.rotateKeys()
    expect(await leftBehind(vault)).toEqual([])
    await vault.destroyKey(2)
    expect((await wider.as(OWNER).getOne('more', id)).fields.a).toBe('one')
  })
})
