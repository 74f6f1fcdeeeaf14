/** Founds a vault in an empty storage: its first root keys, an empty schema, and the marker that there is a vault. */
import { fault, isVaultError } from '../errors.ts'
import type { Entropy, KeyProvider, KeyRingFactory, RootKey } from '../ports/crypto.ts'
import type { Storage } from '../ports/storage.ts'
import type { Clock } from '../ports/time.ts'
import { assignIds, EMPTY_CATALOG_SCHEMA } from '../schema/catalog-schema.ts'
import type { SchemaDefinition } from '../schema/column.ts'
import { layoutSchema } from '../schema/layout.ts'
import { CATALOG, MAINTENANCE, MARKER, OPENINGS, SYSTEM_TABLES } from '../schema/system-tables.ts'
import { toUtf8 } from '../util/bytes.ts'
import { at } from '../util/lists.ts'
import { toBase64 } from '../util/text.ts'
import { nowMs } from '../util/time.ts'
import { type CatalogState, MARKER_ID, STORED_FORMAT, sealMarker, sealState } from './catalog-entries.ts'
import { ROOT_BYTES, rootAssociatedData, rootEntry, sealRing, wipeRoots } from './root-keys.ts'

/** The first root keys. One only looks up, so that the other can be replaced without a change of any id, token or digest. */
const LOOKUP_VERSION = 1
const SEALING_VERSION = 2
/** Length of the identity of a vault, in bytes. */
const IDENTITY_BYTES = 32

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
  readonly clock: Clock
}

/**
 * Writes the first entries and the marker in one transaction. If several processes do it at once, one succeeds, and the others read
 * its entries. Throws `data_loss` if a table of the vault holds rows: its catalog was lost, and a new root key would not open them.
 */
export async function foundVault(ports: FoundingPorts, { vaultId, vault, definition }: NewVault): Promise<void> {
  const { storage, keys, keyRingFactory, entropy, clock } = ports
  const occupied = await findOccupied(storage, definition)
  if (occupied !== undefined) {
    // Another process may have founded the vault and written to it since the catalog was read.
    if (await hasRows(storage, CATALOG.name)) return
    throw fault(
      'data_loss',
    )`Cannot open the vault: its catalog is empty, but table ${occupied} holds rows. Restore the catalog from a backup. Nothing was written.`
  }
  const roots: RootKey[] = [LOOKUP_VERSION, SEALING_VERSION].map((version) => ({ version, key: entropy.bytes(ROOT_BYTES) }))
  const [lookup, sealing] = [at(roots, 0), at(roots, 1)]
  const wrapped = await keys.wrap(sealing.key, rootAssociatedData(vaultId, sealing.version))
  const use = { activeVersion: sealing.version, lookupVersion: lookup.version }
  const address = { ring: keyRingFactory.createRing(vaultId, roots, use), vault }
  const [vaultRow, rootRow, ringRow, schemaRow] = (await storage.reserveIds(CATALOG.name, 4)) as [number, number, number, number]
  const now = nowMs({ clock })
  const state: CatalogState = {
    format: STORED_FORMAT,
    generation: 1,
    lookupVersion: lookup.version,
    roots: [
      { version: lookup.version, state: 'lookup' },
      { version: sealing.version, state: 'active' },
    ],
    since: { [lookup.version]: now, [sealing.version]: now },
    digestVersion: lookup.version,
    isResealing: false,
    destroyed: [],
    identity: toBase64(entropy.bytes(IDENTITY_BYTES)),
    holds: 0,
    schema: EMPTY_CATALOG_SCHEMA,
  }
  const entries = [
    { id: vaultRow, entry: 'vault', key_id: null, content: toUtf8(vaultId) },
    { id: rootRow, entry: rootEntry(sealing.version), key_id: wrapped.keyId, content: wrapped.bytes },
    { id: ringRow, entry: 'ring', key_id: null, content: sealRing(address, ringRow, [lookup]) },
    { id: schemaRow, entry: 'schema', key_id: null, content: sealState(address, schemaRow, state) },
  ]
  const write = storage.transaction(async (inner) => {
    await inner.insert(CATALOG.name, entries)
    await inner.insert(MARKER.name, [{ id: MARKER_ID, body: sealMarker(address, state.generation) }])
  })
  try {
    await write
  } catch (error) {
    if (!isVaultError(error, 'conflict')) throw error
  } finally {
    address.ring.close()
    wipeRoots(roots)
  }
}

/** Returns a table of the vault that holds rows: a system table, or a table that the schema would have in a new vault. Tables of the application do not count. */
async function findOccupied(storage: Storage, definition: SchemaDefinition): Promise<string | undefined> {
  for (const { name } of SYSTEM_TABLES) if (!UNNEEDED.has(name) && (await hasRows(storage, name))) return name
  const tables = [...layoutSchema(assignIds(definition, EMPTY_CATALOG_SCHEMA)).tables.values()]
  await storage.prepare(tables.map(({ physical }) => physical))
  for (const { physical } of tables) if (await hasRows(storage, physical.name)) return physical.name
  return undefined
}

/** Tables whose rows are of processes that were ended, and of use to no one. */
const UNNEEDED: ReadonlySet<string> = new Set([OPENINGS.name, MAINTENANCE.name])

async function hasRows(storage: Storage, table: string): Promise<boolean> {
  return (await storage.find(table, { kind: 'all' }, { order: 'asc', limit: 1, columns: [] })).length > 0
}
