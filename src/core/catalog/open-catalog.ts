/** Opens the catalog of a vault: the vault id, the wrapped root keys, and the schema of the last opening. */
import { isVaultError, VaultError } from '../errors.ts'
import type { Entropy } from '../ports/entropy.ts'
import type { KeyProvider, KeyRing, KeyRingFactory, RootKey } from '../ports/keys.ts'
import type { PhysicalTable, Row, Storage } from '../ports/storage.ts'
import type { CatalogSchema } from '../schema/catalog-schema.ts'
import { EMPTY_CATALOG_SCHEMA } from '../schema/catalog-schema.ts'
import { openEntry, sealEntry } from '../sealing/catalog-entry.ts'
import { at } from '../util/at.ts'
import { ByteWriter, readUtf8 } from '../util/bytes.ts'
import { toSlab } from '../util/slab.ts'

/** The table of the catalog. Every vault has it before its schema is known. */
const CATALOG: PhysicalTable = {
  name: 'catalog',
  columns: [
    { name: 'entry', type: 'text' },
    { name: 'key_id', type: 'text' },
    { name: 'content', type: 'bytes' },
  ],
  indexes: [{ columns: ['entry'], unique: true }],
}

/** Length of a root key in bytes. */
const ROOT_BYTES = 32
/** Maximum number of rows read: far more than the root keys a vault can have. */
const MAX_ENTRIES = 100_000

/** The ports that opening uses. */
export interface CatalogPorts {
  readonly storage: Storage
  readonly keys: KeyProvider
  readonly keyRingFactory: KeyRingFactory
  readonly entropy: Entropy
}

/** An open catalog. */
export interface Catalog {
  readonly ring: KeyRing
  /** 16-byte digest of the vault id, for associated data. */
  readonly vault: Uint8Array
  /** The stored schema; empty for a new vault. */
  readonly schema: CatalogSchema
  /** Stores a new schema. Returns false if another process changed the catalog first: it must then be opened again. */
  store(storage: Storage, catalogSchema: CatalogSchema): Promise<boolean>
}

/**
 * Opens the catalog, and creates it in an empty storage. Throws `failed_precondition` if the storage belongs to another vault or
 * the key differs, and `data_loss` if an entry is missing, malformed or fails authentication. Nothing is written then.
 */
export async function openCatalog(ports: CatalogPorts, vaultId: string): Promise<Catalog> {
  await ports.storage.prepare([CATALOG])
  let rows = await readEntries(ports.storage)
  if (rows.size === 0) {
    await initializeCatalog(ports, vaultId)
    rows = await readEntries(ports.storage)
  }
  assertOwner(rows, vaultId)
  const roots = await unwrapRoots(ports.keys, rows, vaultId)
  const ring = ports.keyRingFactory.createRing(vaultId, roots)
  for (const { key } of roots) key.fill(0)
  const vault = vaultDigest(ring, vaultId)
  const schema = rows.get('schema')
  if (schema === undefined) throw damaged('the catalog has no schema')
  return {
    ring,
    vault,
    schema: openCatalogSchema(ring, vault, schema),
    async store(storage, catalogSchema) {
      const content = sealCatalogSchema(ring, vault, schema.id, catalogSchema)
      const [matched] = await storage.update(CATALOG.name, [{ id: schema.id, version: schema.version, set: { content } }])
      return matched === true
    },
  }
}

async function readEntries(storage: Storage): Promise<Map<string, Row>> {
  const rows = await storage.find(CATALOG.name, { kind: 'all' }, { order: 'asc', limit: MAX_ENTRIES })
  return new Map(rows.map((row) => [String(row.entry), row]))
}

/** Writes the first entries of a new vault in one insert. If several processes do it at once, one succeeds, and the others read its entries. */
async function initializeCatalog({ storage, keys, keyRingFactory, entropy }: CatalogPorts, vaultId: string): Promise<void> {
  const root: RootKey = { version: 1, key: entropy.bytes(ROOT_BYTES) }
  const wrapped = await keys.wrap(root.key, rootAssociatedData(vaultId, root.version))
  const ring = keyRingFactory.createRing(vaultId, [root])
  const ids = await storage.reserveIds(CATALOG.name, 3)
  const schemaId = at(ids, 2)
  const entries = [
    { id: at(ids, 0), entry: 'vault', key_id: null, content: utf8(vaultId) },
    { id: at(ids, 1), entry: `root/${root.version}`, key_id: wrapped.keyId, content: wrapped.bytes },
    {
      id: schemaId,
      entry: 'schema',
      key_id: null,
      content: sealCatalogSchema(ring, vaultDigest(ring, vaultId), schemaId, EMPTY_CATALOG_SCHEMA),
    },
  ]
  ring.close()
  root.key.fill(0)
  await storage.insert(CATALOG.name, entries).catch((error: unknown) => {
    if (!isVaultError(error, 'conflict')) throw error
  })
}

/** Throws for entries of another vault, before a key is unwrapped. */
function assertOwner(rows: ReadonlyMap<string, Row>, vaultId: string): void {
  const content = rows.get('vault')?.content
  if (!(content instanceof Uint8Array)) throw damaged('the catalog has no vault id')
  if (readUtf8(content, 0, content.length) === vaultId) return
  throw new VaultError(
    'failed_precondition',
    'Cannot open the vault: the storage belongs to a vault with another id. Use that id, or another storage. Nothing was written.',
  )
}

async function unwrapRoots(keys: KeyProvider, rows: ReadonlyMap<string, Row>, vaultId: string): Promise<RootKey[]> {
  const roots: RootKey[] = []
  for (const [entry, row] of rows) {
    if (!entry.startsWith('root/')) continue
    const version = Number(entry.slice('root/'.length))
    const { key_id: keyId, content } = row
    if (!Number.isInteger(version) || typeof keyId !== 'string' || !(content instanceof Uint8Array))
      throw damaged('a root key in the catalog is malformed')
    roots.push({ version, key: await keys.unwrap({ keyId, bytes: content }, rootAssociatedData(vaultId, version)) })
  }
  if (roots.length === 0) throw damaged('the catalog has no root key')
  return roots
}

/** Returns the associated data that binds a wrapped root key to its vault and version. */
function rootAssociatedData(vaultId: string, version: number): Uint8Array {
  return utf8(`strongroom/root/${version}/${vaultId}`)
}

function vaultDigest(ring: KeyRing, vaultId: string): Uint8Array {
  return ring.digest('vault', toSlab([utf8(vaultId)]))
}

/** Seals the schema. It is not secret, but an attacker who could change ordinals could make one column be read as another. */
function sealCatalogSchema(ring: KeyRing, vault: Uint8Array, id: number, catalogSchema: CatalogSchema): Uint8Array {
  return sealEntry(ring, vault, id, utf8(JSON.stringify(catalogSchema)))
}

function openCatalogSchema(ring: KeyRing, vault: Uint8Array, row: Row): CatalogSchema {
  const sealed = row.content
  const plaintext = sealed instanceof Uint8Array ? openEntry(ring, vault, row.id, sealed) : undefined
  if (plaintext === undefined) throw damaged('the schema in the catalog failed authentication')
  // The cast is safe: only `sealCatalogSchema` makes a plaintext that is authentic.
  return JSON.parse(readUtf8(plaintext, 0, plaintext.length)) as CatalogSchema
}

function utf8(text: string): Uint8Array {
  const out = new ByteWriter(text.length + 16)
  out.utf8(text)
  return out.written()
}

function damaged(problem: string): VaultError {
  return new VaultError('data_loss', `Cannot open the vault: ${problem}. Restore it from a backup.`)
}
