/** Root keys that are added and activated as another process would do it. */
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { openCatalog } from '../../../src/core/catalog/open-catalog.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { activateRootKey, addRootKey, changeKeys } from '../../../src/core/rotation/change-keys.ts'
import type { SchemaDefinition } from '../../../src/core/schema/column.ts'
import { layoutSchema } from '../../../src/core/schema/layout.ts'
import { SYSTEM_PORTS } from './system-ports.ts'
import { TEST_SECRET } from './test-vault.ts'

/** Adds a root key to vault `v1`, and activates it unless it is to stay pending. */
export async function addKey(storage: StorageHandle, definition: SchemaDefinition, { isActivated = true } = {}): Promise<void> {
  const keys = localKeys({ key: TEST_SECRET })
  const catalog = await openCatalog({ ...SYSTEM_PORTS, storage, keys }, 'v1', definition)
  const ports = { ...SYSTEM_PORTS, storage, keys, vaultId: 'v1' }
  const version = await changeKeys(ports, catalog, () => addRootKey(ports, catalog))
  const stored = [...layoutSchema(catalog.state.schema).tables.values()].map(({ physical }) => physical)
  await storage.prepare(stored)
  // Writers of records alone end first. What else is sealed has to keep itself from being stored under the key before.
  const tables = stored.map(({ name }) => name)
  if (isActivated)
    await changeKeys(ports, catalog, () =>
      activateRootKey(ports, catalog, { from: catalog.state, version, tables, waitMs: 1000 }),
    )
  catalog.close()
}
