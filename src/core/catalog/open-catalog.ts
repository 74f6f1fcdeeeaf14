/** Opens the catalog of a vault: its id, root keys and schema. Reads it again when another process changed it, and keeps an older schema from writing what the stored one does not allow. */
import type { Barrier } from '../barrier/barrier.ts'
import { VaultError } from '../errors.ts'
import type { Hash, KeyRing, RootKey, RootKeySet } from '../ports/crypto.ts'
import type { Row, Storage, StorageReads } from '../ports/storage.ts'
import { type CatalogSchema, findOutdatedTables, hiddenTokenIds } from '../schema/catalog-schema.ts'
import type { SchemaDefinition } from '../schema/column.ts'
import type { Table } from '../schema/layout.ts'
import { CATALOG, MARKER, SYSTEM_TABLES } from '../schema/system-tables.ts'
import { digestVaultId, readVersion } from '../sealing/envelope.ts'
import { readUtf8 } from '../util/bytes.ts'
import { required } from '../util/lists.ts'
import {
  assertNotRolledBack,
  type CatalogRows,
  type CatalogState,
  damaged,
  MARKER_ID,
  openState,
  readCatalogRows,
  sealMarker,
  sealState,
} from './catalog-entries.ts'
import { type FoundingPorts, foundVault, rootAssociatedData } from './found-vault.ts'
import { unwrapRoot } from './unwrap-root.ts'

/** The ports that opening uses. */
export interface CatalogPorts extends FoundingPorts {
  readonly hash: Hash
}

/** What a changed catalog stores. What is absent stays. */
export interface CatalogChange {
  readonly schema?: CatalogSchema
  readonly keys?: Omit<RootKeySet, 'generation'>
}

/** An open catalog. */
export interface Catalog {
  /** The keys and the vault. Its ring is replaced by `reload` if the root keys changed. */
  readonly barrier: Barrier
  /** What was read last. The schema of a new vault is empty. */
  readonly state: CatalogState
  /** True if no other process changed the catalog since it was read. One small read. */
  isCurrent(storage: StorageReads): Promise<boolean>
  /** Reads the catalog again. Root keys are unwrapped only if they changed. Throws like `openCatalog`. */
  reload(storage: StorageReads): Promise<void>
  /** Overwrites the keys of this ring, and of those that `reload` replaced: calls in progress may have used them until now. */
  close(): void
  /**
   * Stores a change as the next generation, inside a transaction. Returns false if another process changed the catalog first: it must
   * then be read again. After the commit, `reload` adopts the change.
   */
  store(storage: Storage, change: CatalogChange): Promise<boolean>
}

/** What is kept of one reading. */
interface Reading {
  readonly ring: KeyRing
  readonly state: CatalogState
  /** The row of the sealed entry. */
  readonly row: Pick<Row, 'id' | 'version'>
}

/**
 * Opens the catalog, and founds a vault in an empty storage. Throws `failed_precondition` if the storage belongs to another vault or
 * the key differs, and `data_loss` if an entry is missing, malformed, older than the records or fails authentication. Nothing is
 * written then. `definition` says which tables a storage without a catalog must not hold.
 */
export async function openCatalog(ports: CatalogPorts, vaultId: string, definition: SchemaDefinition): Promise<Catalog> {
  const { storage, hash, entropy } = ports
  const vault = digestVaultId(hash, vaultId)
  await storage.prepare([CATALOG, ...SYSTEM_TABLES])
  let rows = await readCatalogRows(storage)
  if (rows.entries.size === 0) await foundVault(ports, { vaultId, vault, definition })
  // Without a marker, too, another process may have founded the vault while this one read it.
  if (rows.entries.size === 0 || rows.marker === undefined) rows = await readCatalogRows(storage)
  const read = (read: CatalogRows, known: Reading | undefined) => openRows(ports, { vaultId, vault, rows: read, known })
  let reading = await read(rows, undefined)
  const barrier: { ring: KeyRing } & Omit<Barrier, 'ring'> = { ring: reading.ring, entropy, vault }
  let reloading: Promise<void> | undefined

  const rings = new Set([reading.ring])
  let isClosed = false

  async function readAgain(within: StorageReads): Promise<void> {
    reading = await read(await readCatalogRows(within), reading)
    rings.add(reading.ring)
    barrier.ring = reading.ring
    // Keys that arrive after the vault was closed are not kept.
    if (isClosed) reading.ring.close()
  }

  return {
    barrier,
    get state() {
      return reading.state
    },
    async isCurrent(within) {
      const { id, version } = reading.row
      const filter = { kind: 'compare', column: 'id', operator: '=', value: id } as const
      const [row] = await within.find(CATALOG.name, filter, { order: 'asc', limit: 1, columns: [], newest: true })
      return row?.version === version
    },
    reload(within) {
      // Callers that meet a change at once share one reading, and so one unwrapping.
      reloading ??= readAgain(within).finally(() => {
        reloading = undefined
      })
      return reloading
    },
    async store(within, { schema, keys }) {
      const { row, ring } = reading
      const before = reading.state
      const { lookupVersion, roots } = keys ?? before
      const state = { generation: before.generation + 1, lookupVersion, roots, schema: schema ?? before.schema }
      const content = sealState({ ring, vault }, row.id, state)
      const [isStored] = await within.update(CATALOG.name, [{ ...row, set: { content } }])
      if (isStored !== true) return false
      const [marker] = await within.get(MARKER.name, [MARKER_ID])
      const version = required(marker, 'The marker of an open vault').version
      const body = sealMarker({ ring, vault }, state.generation)
      const [isMarked] = await within.update(MARKER.name, [{ id: MARKER_ID, version, set: { body } }])
      return isMarked === true
    },
    close() {
      isClosed = true
      for (const ring of rings) ring.close()
    },
  }
}

/** The rows to open. `known` is the last reading, whose keys are used again if the root keys are the same. */
interface RowsToOpen {
  readonly vaultId: string
  readonly vault: Uint8Array
  readonly rows: CatalogRows
  readonly known: Reading | undefined
}

async function openRows(ports: CatalogPorts, { vaultId, vault, rows, known }: RowsToOpen): Promise<Reading> {
  const { entries } = rows
  assertOwner(entries, vaultId)
  const roots = createUnwrapper(ports, entries, { vaultId, isOpen: known !== undefined })
  try {
    const row = entries.get('schema')
    if (row === undefined) throw damaged('the catalog has no schema')
    const { content } = row
    const sealedWith = content instanceof Uint8Array ? readVersion(content, 0, content.length) : 0
    if (sealedWith === 0) throw damaged('the schema in the catalog failed authentication')
    // Only the key of the entry is needed to read which other keys the vault has. A key that is not listed there is never used.
    const isKnown = known?.ring.hasVersion(sealedWith) === true
    const first = isKnown ? known.ring : ports.keyRingFactory.createRing(vaultId, [await roots.unwrap(sealedWith)])
    const state = openState({ ring: first, vault }, row)
    if (!isKnown) first.close()
    const ring = known !== undefined && hasSameKeys(known.state, state) ? known.ring : await createRing(state)
    assertNotRolledBack({ ring, vault }, state, rows)
    return { ring, state, row: { id: row.id, version: row.version } }
  } finally {
    roots.wipe()
  }

  async function createRing({ roots: listed, lookupVersion }: CatalogState): Promise<KeyRing> {
    const active = listed.find((root) => root.state === 'active')
    if (active === undefined) throw damaged('no root key in the catalog is active')
    const keys: RootKey[] = []
    for (const { version } of listed) keys.push(await roots.unwrap(version))
    return ports.keyRingFactory.createRing(vaultId, keys, { activeVersion: active.version, lookupVersion })
  }
}

function hasSameKeys(left: RootKeySet, right: RootKeySet): boolean {
  return left.lookupVersion === right.lookupVersion && JSON.stringify(left.roots) === JSON.stringify(right.roots)
}

/** Throws for entries of another vault, before a key is unwrapped. */
function assertOwner(entries: ReadonlyMap<string, Row>, vaultId: string): void {
  const content = entries.get('vault')?.content
  if (!(content instanceof Uint8Array)) throw damaged('the catalog has no vault id')
  if (readUtf8(content, 0, content.length) === vaultId) return
  throw new VaultError(
    'failed_precondition',
    'Cannot open the vault: the storage belongs to a vault with another id. Use that id, or another storage. Nothing was written.',
  )
}

/** Unwraps the root keys of a catalog, each once. */
interface Unwrapper {
  unwrap(version: number): Promise<RootKey>
  /** Overwrites what was unwrapped. */
  wipe(): void
}

/** Returns a function that unwraps the root key of a version, each one once. Throws `data_loss` for one that is missing or malformed. */
function createUnwrapper(
  { keys }: CatalogPorts,
  entries: ReadonlyMap<string, Row>,
  { vaultId, isOpen }: { readonly vaultId: string; readonly isOpen: boolean },
): Unwrapper {
  const unwrapped = new Map<number, RootKey>()
  return {
    async unwrap(version) {
      const done = unwrapped.get(version)
      if (done !== undefined) return done
      const row = entries.get(`root/${version}`)
      if (row === undefined) throw damaged(`root key ${version} is missing from the catalog`)
      const { key_id: keyId, content } = row
      if (typeof keyId !== 'string' || !(content instanceof Uint8Array)) throw damaged('a root key in the catalog is malformed')
      const associatedData = rootAssociatedData(vaultId, version)
      const key = await unwrapRoot(keys, { wrapped: { keyId, bytes: content }, associatedData, isOpen })
      const root = { version, key }
      unwrapped.set(version, root)
      return root
    },
    wipe() {
      for (const { key } of unwrapped.values()) key.fill(0)
    },
  }
}

/** What writers know of the catalog. */
export interface CatalogFence {
  /** Root keys and generation as they were read last. */
  readonly keys: RootKeySet
  /** Throws `failed_precondition` for a table whose records this process must not write: its schema lacks a rule of the stored one. */
  assertWritable(table: Table): void
  /** Object ids of columns of a table that have tokens and that this process does not know: a deleted record loses those tokens too. */
  hiddenTokenIds(table: Table): readonly number[]
  /** True if a column of the table holds files, also one that this process does not know: a deleted record loses those files too. */
  holdsFiles(table: Pick<Table, 'name'>): boolean
  /** True if the stored catalog is of this generation, and this process has read none after it. One small read. */
  isCurrent(storage: StorageReads, generation: number): Promise<boolean>
  /** Reads the catalog again. */
  reload(storage: StorageReads): Promise<void>
}

/** Returns the fence of a process that opened the vault with this definition. */
export function createCatalogFence(catalog: Catalog, definition: SchemaDefinition): CatalogFence {
  let evaluated = catalog.state
  let outdated = findOutdatedTables(definition, evaluated.schema)
  return {
    get keys() {
      return catalog.state
    },
    assertWritable({ name }) {
      if (evaluated !== catalog.state) {
        evaluated = catalog.state
        outdated = findOutdatedTables(definition, evaluated.schema)
      }
      const reason = outdated.get(name)
      if (reason !== undefined) throw reason
    },
    hiddenTokenIds: ({ name }) => hiddenTokenIds(definition, catalog.state.schema, name),
    holdsFiles: ({ name }) =>
      Object.values(catalog.state.schema.tables[name]?.columns ?? {}).some(({ definition: is }) => is.type === 'FILE'),
    // A call can be older than the last reading, which another call of this process asked for meanwhile.
    isCurrent: async (storage, generation) => catalog.state.generation === generation && (await catalog.isCurrent(storage)),
    reload: catalog.reload,
  }
}
