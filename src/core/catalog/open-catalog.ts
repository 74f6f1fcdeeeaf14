/** Opens a vault's catalog: whose storage this is, its wrapped keys, and the schema as it was last opened. */
import { isVaultError, VaultError } from '../errors.ts'
import type { Entropy } from '../ports/entropy.ts'
import type { KeyProvider, KeyRing, KeyRingFactory, RootKey } from '../ports/keys.ts'
import type { PhysicalTable, Row, Storage } from '../ports/storage.ts'
import type { CatalogSchema } from '../schema/catalog-schema.ts'
import { EMPTY_CATALOG_SCHEMA } from '../schema/catalog-schema.ts'
import { openEntry, sealEntry } from '../sealing/catalog-entry.ts'
import { ByteWriter, readUtf8 } from '../util/bytes.ts'
import { toSlab } from '../util/slab.ts'

/** The one table every vault has before its schema is known. */
const CATALOG: PhysicalTable = {
  name: 'catalog',
  columns: [
    { name: 'entry', type: 'text' },
    { name: 'key_id', type: 'text' },
    { name: 'content', type: 'bytes' },
  ],
  indexes: [{ columns: ['entry'], unique: true }],
}

/** Bytes of a root key. */
const ROOT_BYTES = 32
/** Rows a catalog holds at most: far more root keys than a vault will ever rotate through. */
const MAX_ENTRIES = 100_000

/** What opening takes from outside. */
export interface CatalogPorts {
  readonly storage: Storage
  readonly keys: KeyProvider
  readonly keyRingFactory: KeyRingFactory
  readonly entropy: Entropy
}

/** An open catalog. */
export interface Catalog {
  readonly ring: KeyRing
  /** 16-byte digest of the vault's id, for associated data. */
  readonly vault: Uint8Array
  readonly schema: CatalogSchema
  /** Remembers a new allotment; false when another process was quicker, and the catalog must be opened again. */
  remember(storage: Storage, catalogSchema: CatalogSchema): Promise<boolean>
}

/** Opens the catalog, founding it in an empty storage. Throws `failed_precondition` when it is another vault's or the key is another; then nothing was written. */
export async function openCatalog(ports: CatalogPorts, vaultId: string): Promise<Catalog> {
  await ports.storage.prepare([CATALOG])
  let rows = await readEntries(ports.storage)
  if (rows.size === 0) {
    await initializeCatalog(ports, vaultId)
    rows = await readEntries(ports.storage)
  }
  assertOwner(rows, vaultId)
  const ring = ports.keyRingFactory.createRing(vaultId, await unwrapRoots(ports.keys, rows, vaultId))
  const vault = vaultDigest(ring, vaultId)
  const schema = rows.get('schema')
  if (schema === undefined) throw damaged('it holds no schema')
  return {
    ring,
    vault,
    schema: openCatalogSchema(ring, vault, schema),
    async remember(storage, catalogSchema) {
      const content = sealAllotment(ring, vault, schema.id, catalogSchema)
      const [matched] = await storage.update(CATALOG.name, [{ id: schema.id, version: schema.version, set: { content } }])
      return matched === true
    },
  }
}

async function readEntries(storage: Storage): Promise<Map<string, Row>> {
  const rows = await storage.find(CATALOG.name, { kind: 'all' }, { order: 'asc', limit: MAX_ENTRIES })
  return new Map(rows.map((row) => [String(row.entry), row]))
}

/** Writes the first entries of a new vault, all in one insert: of several founders racing, one wins and the others read what it wrote. */
async function initializeCatalog({ storage, keys, keyRingFactory, entropy }: CatalogPorts, vaultId: string): Promise<void> {
  const root: RootKey = { version: 1, key: entropy.bytes(ROOT_BYTES) }
  const wrapped = await keys.wrap(root.key, rootContext(vaultId, root.version))
  const ring = keyRingFactory.createRing(vaultId, [root])
  const [owner = 0, rootRow = 0, schema = 0] = await storage.reserveIds(CATALOG.name, 3)
  const entries = [
    { id: owner, entry: 'vault', key_id: null, content: utf8(vaultId) },
    { id: rootRow, entry: `root/${root.version}`, key_id: wrapped.keyId, content: wrapped.bytes },
    {
      id: schema,
      entry: 'schema',
      key_id: null,
      content: sealAllotment(ring, vaultDigest(ring, vaultId), schema, EMPTY_CATALOG_SCHEMA),
    },
  ]
  await storage.insert(CATALOG.name, entries).catch((error: unknown) => {
    if (!isVaultError(error, 'conflict')) throw error
  })
}

function assertOwner(rows: ReadonlyMap<string, Row>, vaultId: string): void {
  const content = rows.get('vault')?.content
  if (!(content instanceof Uint8Array)) throw damaged('it names no vault')
  if (readUtf8(content, 0, content.length) === vaultId) return
  throw new VaultError(
    'failed_precondition',
    'The vault was not opened, and nothing was written: this storage belongs to a vault of another id. Open that one, or give this one a storage of its own.',
  )
}

async function unwrapRoots(keys: KeyProvider, rows: ReadonlyMap<string, Row>, vaultId: string): Promise<RootKey[]> {
  const roots: RootKey[] = []
  for (const [entry, row] of rows) {
    if (!entry.startsWith('root/')) continue
    const version = Number(entry.slice('root/'.length))
    const { key_id: keyId, content } = row
    if (!Number.isInteger(version) || typeof keyId !== 'string' || !(content instanceof Uint8Array))
      throw damaged('a root key is malformed')
    roots.push({ version, key: await keys.unwrap({ keyId, bytes: content }, rootContext(vaultId, version)) })
  }
  if (roots.length === 0) throw damaged('it holds no root key')
  return roots
}

/** Binds a wrapped root key to its vault and version. */
function rootContext(vaultId: string, version: number): Uint8Array {
  return utf8(`strongroom/root/${version}/${vaultId}`)
}

function vaultDigest(ring: KeyRing, vaultId: string): Uint8Array {
  return ring.digest('vault', toSlab([utf8(vaultId)]))
}

/** The schema is sealed, not for secrecy but because whoever could edit ordinals could have one column read as another. */
function sealAllotment(ring: KeyRing, vault: Uint8Array, id: number, catalogSchema: CatalogSchema): Uint8Array {
  return sealEntry(ring, vault, id, utf8(JSON.stringify(catalogSchema)))
}

function openCatalogSchema(ring: KeyRing, vault: Uint8Array, row: Row): CatalogSchema {
  const sealed = row.content
  const plaintext = sealed instanceof Uint8Array ? openEntry(ring, vault, row.id, sealed) : undefined
  if (plaintext === undefined) throw damaged('its schema cannot be authenticated')
  return JSON.parse(readUtf8(plaintext, 0, plaintext.length)) as CatalogSchema // We sealed it ourselves.
}

function utf8(text: string): Uint8Array {
  const out = new ByteWriter(text.length + 16)
  out.utf8(text)
  return out.written()
}

function damaged(what: string): VaultError {
  return new VaultError(
    'failed_precondition',
    `The vault was not opened, and nothing was written: its catalog is damaged, ${what}. Restore it from a backup.`,
  )
}
