/** Founds a vault in an empty storage: its first root key, an empty schema, and the marker that there is a vault. */
import { fault, isVaultError } from '../errors.ts'
import type { Entropy, KeyProvider, KeyRingFactory, RootKey } from '../ports/crypto.ts'
import type { Storage } from '../ports/storage.ts'
import { assignIds, EMPTY_CATALOG_SCHEMA } from '../schema/catalog-schema.ts'
import type { SchemaDefinition } from '../schema/column.ts'
import { layoutSchema } from '../schema/layout.ts'
import { CATALOG, MARKER, SYSTEM_TABLES } from '../schema/system-tables.ts'
import { toUtf8 } from '../util/bytes.ts'
import { at } from '../util/lists.ts'
import { MARKER_ID, sealMarker, sealState } from './catalog-entries.ts'

/** Length of a root key in bytes. */
const ROOT_BYTES = 32

/** The vault to found. `vault` is the 16-byte digest of its id. */
export interface NewVault {
  readonly vaultId: string
  readonly vault: Uint8Array
  readonly definition: SchemaDefinition
}

/** The ports that founding uses. */
export interface FoundingPorts {
  readonly storage: Storage
  readonly keys: KeyProvider
  readonly keyRingFactory: KeyRingFactory
  readonly entropy: Entropy
}

/**
 * Writes the first entries and the marker in one transaction. If several processes do it at once, one succeeds, and the others read
 * its entries. Throws `data_loss` if a table of the vault holds rows: its catalog was lost, and a new root key would not open them.
 */
export async function foundVault(ports: FoundingPorts, { vaultId, vault, definition }: NewVault): Promise<void> {
  const { storage, keys, keyRingFactory, entropy } = ports
  const occupied = await findOccupied(storage, definition)
  if (occupied !== undefined) {
    // Another process may have founded the vault and written to it since the catalog was read.
    if (await hasRows(storage, CATALOG.name)) return
    throw fault(
      'data_loss',
    )`Cannot open the vault: its catalog is empty, but table ${occupied} holds rows. Restore the catalog from a backup. Nothing was written.`
  }
  const root: RootKey = { version: 1, key: entropy.bytes(ROOT_BYTES) }
  const wrapped = await keys.wrap(root.key, rootAssociatedData(vaultId, root.version))
  const sealing = { ring: keyRingFactory.createRing(vaultId, [root]), vault }
  const ids = await storage.reserveIds(CATALOG.name, 3)
  const schemaId = at(ids, 2)
  const state = {
    generation: 1,
    lookupVersion: root.version,
    roots: [{ version: root.version, state: 'active' }],
    schema: EMPTY_CATALOG_SCHEMA,
  } as const
  const entries = [
    { id: at(ids, 0), entry: 'vault', key_id: null, content: toUtf8(vaultId) },
    { id: at(ids, 1), entry: `root/${root.version}`, key_id: wrapped.keyId, content: wrapped.bytes },
    { id: schemaId, entry: 'schema', key_id: null, content: sealState(sealing, schemaId, state) },
  ]
  const write = storage.transaction(async (inner) => {
    await inner.insert(CATALOG.name, entries)
    await inner.insert(MARKER.name, [{ id: MARKER_ID, body: sealMarker(sealing, state.generation) }])
  })
  try {
    await write
  } catch (error) {
    if (!isVaultError(error, 'conflict')) throw error
  } finally {
    sealing.ring.close()
    root.key.fill(0)
  }
}

/** Returns the associated data that binds a wrapped root key to its vault and version. */
export function rootAssociatedData(vaultId: string, version: number): Uint8Array {
  return toUtf8(`strongroom/root/${version}/${vaultId}`)
}

/** Returns a table of the vault that holds rows: a system table, or a table that the schema would have in a new vault. Tables of the application do not count. */
async function findOccupied(storage: Storage, definition: SchemaDefinition): Promise<string | undefined> {
  for (const { name } of SYSTEM_TABLES) if (await hasRows(storage, name)) return name
  const tables = [...layoutSchema(assignIds(definition, EMPTY_CATALOG_SCHEMA)).tables.values()]
  await storage.prepare(tables.map(({ physical }) => physical))
  for (const { physical } of tables) if (await hasRows(storage, physical.name)) return physical.name
  return undefined
}

async function hasRows(storage: Storage, table: string): Promise<boolean> {
  return (await storage.find(table, { kind: 'all' }, { order: 'asc', limit: 1, columns: [] })).length > 0
}
