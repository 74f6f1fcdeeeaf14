/** Opens the catalog of a vault: its id, root keys and schema. Reads it again when another process changed it, and keeps an older schema from writing what the stored one does not allow. */
import { type Barrier, CATALOG_MOVED } from '../barrier/barrier.ts'
import { VaultError } from '../errors.ts'
import type { Hash, KeyRing, RootKey, RootKeySet } from '../ports/crypto.ts'
import type { Row, Storage, StorageHandle, StorageReads } from '../ports/storage.ts'
import type { Stopwatch } from '../ports/time.ts'
import type { CatalogSchema } from '../schema/catalog-schema.ts'
import type { SchemaDefinition } from '../schema/column.ts'
import { CATALOG, MARKER, SYSTEM_TABLES } from '../schema/system-tables.ts'
import { digestVaultId } from '../sealing/envelope.ts'
import { SubjectKeyring } from '../sealing/subject-keyring.ts'
import { readUtf8, toHex, toUtf8, type Writable } from '../util/bytes.ts'
import { required } from '../util/lists.ts'
import { toSlab } from '../util/memory.ts'
import { nowMs } from '../util/time.ts'
import {
  assertNotRolledBack,
  type CatalogKeys,
  type CatalogRows,
  type CatalogState,
  damaged,
  MARKER_ID,
  openState,
  raiseHeads,
  readCatalogRows,
  STORED_FORMAT,
  sealMarker,
  sealState,
} from './catalog-entries.ts'
import { type FoundingPorts, foundVault } from './found-vault.ts'
import { knownErrors } from './key-errors.ts'
import { firstRing, type RootKeyRows, ringOf, rootKeyUse, sealRing } from './root-keys.ts'
import { assertVaultIsHere } from './vault-moves.ts'

/** The ports that opening uses. */
export interface CatalogPorts extends FoundingPorts {
  readonly storage: StorageHandle
  readonly hash: Hash
  readonly stopwatch: Stopwatch
  /** The fingerprint that the vault must have. Default: any. */
  readonly keyFingerprint?: string | undefined
}

/** What a changed catalog stores. What is absent stays. */
export interface CatalogChange {
  /** The state that the change was made from. What was read since, by another call of this process, may say otherwise. */
  readonly from: CatalogState
  readonly schema?: CatalogSchema
  readonly keys?: Omit<RootKeySet, 'generation'>
  readonly destroyed?: CatalogState['destroyed']
  readonly isResealing?: boolean
  readonly digestVersion?: number
  readonly holds?: number
  /** The root keys that the active one seals from now on: all but itself and a pending one. */
  readonly sealedRoots?: readonly RootKey[]
  /** Milliseconds to wait for transactions that append to the trail: other writers wait meanwhile. Then `unavailable`. Default: that of the storage. */
  readonly waitMs?: number
}

/** An open catalog. */
export interface Catalog {
  /** The keys and the vault. Its ring is replaced by `reload` if the root keys changed. */
  readonly barrier: Barrier
  /** What was read last. The schema of a new vault is empty. */
  readonly state: CatalogState
  /** True if no other process changed the catalog since it was read. One small read. */
  isCurrent(storage: StorageReads): Promise<boolean>
  /**
   * False if it was longer ago than `FRESH_MS` that the stored catalog was known to be this one: what was read since then may have been looked up by
   * keys that are no longer in use. Only looks at the stopwatch.
   */
  isFresh(): boolean
  /** Reads the catalog again, as it is now or later. Root keys are unwrapped only if they changed. Throws like `openCatalog`. */
  reload(storage: StorageReads): Promise<void>
  /** Calls back after each reading that found other keys, with the ring that was replaced. */
  onKeys(listener: (replaced: KeyRing) => void): void
  /**
   * Calls back in each reading that found another schema, before it is adopted, and calls what is returned in the moment in which it is. An error of either
   * ends the reading.
   */
  onSchema(listener: SchemaListener): void
  /** Overwrites the keys of a ring that was replaced, and that no call in progress uses. */
  closeRing(ring: KeyRing): void
  /** Overwrites the keys of this ring, and of those that `reload` replaced: calls in progress may have used them until now. */
  close(): void
  /**
   * Stores a change as the next generation, inside a transaction, then does the work that belongs to it, and raises the heads of all chains last. All
   * is sealed with the active key of the new state. Throws CATALOG_MOVED if the catalog was changed since the state that the change is from: it must
   * then be read again.
   * After the commit, `reload` adopts the change.
   */
  store(storage: Storage, change: CatalogChange, work?: () => Promise<void>): Promise<void>
}

/**
 * Milliseconds for which a reader takes the catalog for unchanged. Writers look each time, and unknown keys of bodies show themselves; digests do not. So
 * a rotation of look-up keys waits longer than this before the first digest changes.
 */
export const FRESH_MS = 10_000

/** Takes a schema that was read, and makes ready what goes by it. The storage is that of the reading. Returns what adopts it. */
export type SchemaListener = (schema: CatalogSchema, storage: StorageReads) => Promise<() => void>

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
 * written then. `definition` says which tables a storage without a catalog must not hold; without one, no vault is founded.
 */
export async function openCatalog(
  ports: CatalogPorts,
  vaultId: string,
  definition: SchemaDefinition | undefined,
): Promise<Catalog> {
  const { storage, hash, entropy, stopwatch } = ports
  let freshAt = stopwatch.now()
  const vault = digestVaultId(hash, vaultId)
  // Preparing makes tables, which would stay in a database that was meant for something else.
  if (definition === undefined && !(await hasTable(storage, CATALOG.name))) throw noVault()
  await storage.prepare([CATALOG, ...SYSTEM_TABLES])
  let rows = await readCatalogRows(storage)
  if (rows.entries.size === 0) {
    if (definition === undefined) throw noVault()
    await foundVault(ports, { vaultId, vault, definition })
  }
  // Without a marker, too, another process may have founded the vault while this one read it.
  if (rows.entries.size === 0 || rows.marker === undefined) rows = await readCatalogRows(storage)
  const read = (read: CatalogRows, known: Reading | undefined) => openRows(ports, { vaultId, vault, rows: read, known })
  let reading = await read(rows, undefined)
  const { destroyed } = reading.state
  const subjectKeys = new SubjectKeyring(ports.keyRingFactory.createSubjectKeys(), stopwatch)
  const barrier: Writable<Barrier> = { ring: reading.ring, entropy, vault, destroyed, subjectKeys }
  let upcoming: Promise<void> | undefined
  let running = Promise.resolve()

  const rings = new Set([reading.ring])
  let isClosed = false
  const listeners: ((replaced: KeyRing) => void)[] = []
  const schemaListeners: SchemaListener[] = []

  async function readAgain(within: StorageReads): Promise<void> {
    const before = reading.ring
    const began = stopwatch.now()
    const next = await read(await readCatalogRows(within), reading)
    const adoptions: (() => void)[] = []
    // What fails from here on, because the storage is made ready for the next schema, is not taken for a failure of its own.
    freshAt = Number.NEGATIVE_INFINITY
    if (JSON.stringify(next.state.schema) !== JSON.stringify(reading.state.schema))
      for (const listener of schemaListeners) adoptions.push(await listener(next.state.schema, within))
    // From here on nothing waits: a generation is never seen with the layout of another.
    reading = next
    for (const adopt of adoptions) adopt()
    freshAt = began
    rings.add(reading.ring)
    barrier.ring = reading.ring
    barrier.destroyed = reading.state.destroyed
    if (before !== reading.ring) for (const listener of listeners) listener(before)
    // Keys that arrive after the vault was closed are not kept.
    if (isClosed) reading.ring.close()
  }

  function reload(within: StorageReads): Promise<void> {
    // Callers that meet a change at once share one reading, and so one unwrapping. One that has begun can miss what a later caller knows of.
    if (upcoming === undefined) {
      upcoming = running.then(() => {
        upcoming = undefined
        return readAgain(within)
      })
      running = upcoming.catch(() => {})
    }
    return upcoming
  }

  return {
    barrier,
    get state() {
      return reading.state
    },
    isFresh: () => stopwatch.now() - freshAt < FRESH_MS,
    async isCurrent(within) {
      const began = stopwatch.now()
      const { id, version } = reading.row
      const filter = { kind: 'compare', column: 'id', operator: '=', value: id } as const
      const [row] = await within.find(CATALOG.name, filter, { order: 'asc', limit: 1, columns: [], newest: true })
      if (row?.version !== version || version !== reading.row.version) return false
      freshAt = began
      return true
    },
    reload,
    async store(within, change, work) {
      const { state: before, ring, row } = reading
      if (before !== change.from) throw CATALOG_MOVED
      assertKnownFormat(before)
      const state = changedState(change, nowMs(ports))
      const sealing = sealingRing(ring, state)
      const address = { ring: sealing, vault }
      try {
        const [marker] = await within.get(MARKER.name, [MARKER_ID])
        const version = required(marker, 'The marker of an open vault').version
        const patches = [{ ...row, set: { content: sealState(address, row.id, state) } }]
        if (change.sealedRoots !== undefined) patches.push(await ringPatch(within, address, change.sealedRoots))
        const areStored = [
          ...(await within.update(CATALOG.name, patches)),
          ...(await within.update(MARKER.name, [
            { id: MARKER_ID, version, set: { body: sealMarker(address, state.generation) } },
          ])),
        ]
        if (areStored.includes(false)) throw CATALOG_MOVED
        await work?.()
        await raiseHeads(within, address, state, change.waitMs)
      } finally {
        if (sealing !== ring) sealing.close()
      }
    },
    onKeys: (listener) => void listeners.push(listener),
    onSchema: (listener) => void schemaListeners.push(listener),
    closeRing(ring) {
      if (rings.delete(ring)) ring.close()
    },
    close() {
      isClosed = true
      for (const ring of rings) ring.close()
      subjectKeys.close()
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
  assertVaultIsHere(entries)
  assertOwner(entries, vaultId)
  const stored: RootKeyRows = { ...ports, vaultId, vault, entries, keys: knownErrors(ports.keys, known !== undefined) }
  const first = await firstRing(stored, known?.ring)
  try {
    const row = required(entries.get('schema'), 'The entry of the schema')
    const state = openState({ ring: first, vault }, row)
    const ring = known !== undefined && hasSameKeys(known.state, state) ? known.ring : await ringOf(stored, first, state)
    assertNotRolledBack({ ring, vault }, state, { rows, isOpening: known === undefined })
    if (ports.keyFingerprint !== undefined && fingerprintOf(ports.hash, state) !== ports.keyFingerprint) throw otherVault()
    return { ring, state, row: { id: row.id, version: row.version } }
  } finally {
    if (first !== known?.ring) first.close()
  }
}

/** Returns the fingerprint of a vault: 64 hex digits. It stays the same for its whole life, whatever becomes of its keys, and no other vault can be founded with it. */
export function fingerprintOf(hash: Hash, { identity }: Pick<CatalogState, 'identity'>): string {
  return toHex(hash.sha256(toSlab([toUtf8(`strongroom/fingerprint/${identity}`)])))
}

async function hasTable(storage: Pick<StorageHandle, 'snapshot'>, name: string): Promise<boolean> {
  return storage.snapshot(async ({ tables }) => tables.some((table) => table.name === name))
}

function noVault(): VaultError {
  return new VaultError(
    'failed_precondition',
    'Cannot open the vault: the storage has none. Check its address, or found one by opening it with a schema, as `strongroom schema apply` does.',
  )
}

function otherVault(): VaultError {
  return new VaultError(
    'failed_precondition',
    'Cannot open the vault: it has another fingerprint than option keyFingerprint. The database was exchanged for another one, or founded anew. Restore it. Nothing was written.',
  )
}

/** Returns the next state. What this release does not know stays in it. */
function changedState(
  { from: before, schema, keys, destroyed, isResealing, digestVersion, holds }: CatalogChange,
  now: number,
): CatalogState {
  const { lookupVersion, roots } = keys ?? before
  const since = roots.map(({ version, state }) => {
    const was = before.roots.find((root) => root.version === version)
    return [version, was?.state === state ? before.since[version] : now] as const
  })
  return {
    ...before,
    generation: before.generation + 1,
    lookupVersion,
    roots,
    since: Object.fromEntries(since) as CatalogState['since'],
    isResealing: isResealing ?? before.isResealing,
    digestVersion: digestVersion ?? before.digestVersion,
    destroyed: destroyed ?? before.destroyed,
    holds: holds ?? before.holds,
    schema: schema ?? before.schema,
  }
}

/** Returns the ring that seals with the active key of a state. */
function sealingRing(ring: KeyRing, state: CatalogState): KeyRing {
  const { activeVersion, lookupVersion } = rootKeyUse(state)
  if (activeVersion === ring.activeVersion) return ring
  const versions = state.roots.map(({ version }) => version).filter((version) => ring.hasVersion(version))
  return ring.withRoots(versions, [], { activeVersion, lookupVersion })
}

/** Returns the patch that seals these root keys with the active one. */
async function ringPatch(storage: Storage, keys: CatalogKeys, roots: readonly RootKey[]) {
  const filter = { kind: 'compare', column: 'entry', operator: '=', value: 'ring' } as const
  const [row] = await storage.find(CATALOG.name, filter, { order: 'asc', limit: 1, columns: [] })
  const { id, version } = required(row, 'The entry of the older root keys')
  return { id, version, set: { content: sealRing(keys, id, roots) } }
}

/** Throws `failed_precondition` for a stored format that this release does not know: what it writes could be wrong there. */
export function assertKnownFormat({ format }: CatalogState): void {
  if (format.number <= STORED_FORMAT.number) return
  throw new VaultError(
    'failed_precondition',
    `The vault is stored in format ${format.number}, and this release of strongroom writes format ${STORED_FORMAT.number}. Install strongroom ${format.release} or newer to write. Reading goes on.`,
  )
}

function hasSameKeys(left: CatalogState, right: CatalogState): boolean {
  return JSON.stringify([rootKeyUse(left), left.roots]) === JSON.stringify([rootKeyUse(right), right.roots])
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
