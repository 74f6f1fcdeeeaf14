/** Root keys that are added and activated as another process would do it, step by step. */
import { randomBytes } from 'node:crypto'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { raiseHeads } from '../../../src/core/catalog/catalog-entries.ts'
import { rootAssociatedData } from '../../../src/core/catalog/found-vault.ts'
import { openCatalog } from '../../../src/core/catalog/open-catalog.ts'
import type { RootKeySet } from '../../../src/core/ports/crypto.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import type { SchemaDefinition } from '../../../src/core/schema/column.ts'
import { SYSTEM_PORTS } from './system-ports.ts'
import { TEST_SECRET } from './test-vault.ts'

type Roots = RootKeySet['roots']
/** Root key 2 is known, and does not seal. */
export const ADDED: Roots = [
  { version: 1, state: 'active' },
  { version: 2, state: 'pending' },
]
/** Root key 2 seals. */
export const ACTIVATED: Roots = [
  { version: 1, state: 'retired' },
  { version: 2, state: 'active' },
]

/** Changes the states of the root keys of vault `v1`, and adds root key 2 the first time. */
export async function changeRoots(storage: StorageHandle, tables: SchemaDefinition, roots: Roots): Promise<void> {
  const keys = localKeys({ key: TEST_SECRET })
  const catalog = await openCatalog({ ...SYSTEM_PORTS, storage, keys }, 'v1', tables)
  const isNew = catalog.state.roots.length === 1
  const wrapped = await keys.wrap(randomBytes(32), rootAssociatedData('v1', 2))
  await storage.transaction(async (inner) => {
    const [id = 0] = await inner.reserveIds('catalog', 1)
    if (isNew) await inner.insert('catalog', [{ id, entry: 'root/2', key_id: wrapped.keyId, content: wrapped.bytes }])
    if (!(await catalog.store(inner, { keys: { lookupVersion: 1, roots } })))
      throw new Error('Another process changed the catalog.')
    await raiseHeads(inner, catalog.barrier, { lookupVersion: 1, roots, generation: catalog.state.generation + 1 })
  })
}
