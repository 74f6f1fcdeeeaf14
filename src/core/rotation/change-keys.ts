/** The changes of the list of root keys. Each is one change of the catalog, so that no process seals with a key that another does not know of. */

import { CATALOG_MOVED, OUTDATED } from '../barrier/barrier.ts'
import { type CatalogState, damaged, newestVersion } from '../catalog/catalog-entries.ts'
import { knownErrors } from '../catalog/key-errors.ts'
import type { Catalog } from '../catalog/open-catalog.ts'
import {
  lookupVersionsOf,
  openRing,
  ROOT_BYTES,
  rootAssociatedData,
  rootEntry,
  unwrapRoot,
  wipeRoots,
} from '../catalog/root-keys.ts'
import { fault } from '../errors.ts'
import type { Entropy, KeyProvider, KeyRingFactory, RootKeyState } from '../ports/crypto.ts'
import type { Row, Storage } from '../ports/storage.ts'
import { CATALOG } from '../schema/system-tables.ts'
import { attempt, type Reason } from '../util/attempt.ts'
import { required } from '../util/lists.ts'

/** The ports of a vault whose root keys change. */
export interface KeyChangePorts {
  readonly storage: Storage
  readonly keys: KeyProvider
  readonly keyRingFactory: KeyRingFactory
  readonly entropy: Entropy
  readonly vaultId: string
}

/** Root key versions are two bytes long. */
const MAX_VERSION = 65_535

/** Changes the keys, and again from what is stored then if another process changed the catalog meanwhile. Reads it again at the end. */
export async function changeKeys<T>({ storage }: KeyChangePorts, catalog: Catalog, work: () => Promise<T>): Promise<T> {
  const moved = { ...OUTDATED, between: () => catalog.reload(storage) }
  const result = await attempt([moved], work)
  await catalog.reload(storage)
  return result
}

/** How long a change waits for transactions in progress at once, and why it is tried again after that. */
export interface Patience {
  readonly waitMs?: number
  readonly again?: Reason
}

function patiently<T>(
  storage: Storage,
  { waitMs, again }: Patience,
  work: (inner: Storage, wait: { readonly waitMs?: number }) => Promise<T>,
): Promise<T> {
  const wait = waitMs === undefined ? {} : { waitMs }
  return attempt(again === undefined ? [] : [again], () => storage.transaction((inner) => work(inner, wait)))
}

/** Adds a root key that only opens until it is activated, unless there is one. Returns its version, which no root key ever had. */
export async function addRootKey(ports: KeyChangePorts, catalog: Catalog, patience: Patience = {}): Promise<number> {
  const { storage, keys, entropy, vaultId } = ports
  const from = catalog.state
  const { roots, lookupVersion } = from
  const pending = roots.find(({ state }) => state === 'pending')
  if (pending !== undefined) return pending.version
  const version = nextVersion(from)
  const key = entropy.bytes(ROOT_BYTES)
  const wrapped = await keys.wrap(key, rootAssociatedData(vaultId, version)).finally(() => key.fill(0))
  const keySet = { lookupVersion, roots: [...roots, { version, state: 'pending' as const }] }
  await patiently(storage, patience, (inner, wait) =>
    catalog.store(inner, { from, keys: keySet, ...wait }, async () => {
      // No root key ever had this version, so a row of that name was planted.
      await removeEntry(inner, version)
      const [id = 0] = await inner.reserveIds(CATALOG.name, 1)
      await inner.insert(CATALOG.name, [{ id, entry: rootEntry(version), key_id: wrapped.keyId, content: wrapped.bytes }])
    }),
  )
  return version
}

/** Returns the version of the next root key, which none ever had. Throws `limit_exceeded`. */
function nextVersion(state: CatalogState): number {
  const version = newestVersion(state) + 1
  if (version <= MAX_VERSION) return version
  throw fault('limit_exceeded')`The vault had ${MAX_VERSION} root keys, which is the limit. Move its data to a new vault.`
}

/** A key to activate, in a state of the catalog, and the tables that hold what is sealed in it. */
export interface Activation {
  readonly from: CatalogState
  readonly version: number
  readonly tables: readonly string[]
  readonly waitMs: number
}

/**
 * Makes the pending root key the one that seals. Writers that sealed with the one before commit first: `tables` are locked meanwhile, for `waitMs` at
 * most. Throws `unavailable` if they take longer: nothing is changed then. Does nothing if the key is active, because a commit that seemed to fail did
 * not, and throws `aborted` if it is neither: a later one replaced it.
 */
export async function activateRootKey(
  ports: KeyChangePorts,
  catalog: Catalog,
  { from, version, tables, waitMs }: Activation,
): Promise<void> {
  const { storage } = ports
  const { lookupVersion, roots } = from
  const is = roots.find((root) => root.version === version)?.state
  if (is === 'active') return
  if (is !== 'pending') throw fault('aborted')`Another process has rotated the keys meanwhile. Call rotateKeys again.`
  const before = activeVersion(from)
  const stateOf = (root: { readonly version: number; readonly state: RootKeyState }): RootKeyState => {
    if (root.version === version) return 'active'
    return root.version === before ? 'retired' : root.state
  }
  const { entries, sealed } = await sealedRoots(storage, catalog, from)
  try {
    sealed.push(await unwrapRoot({ ...ports, keys: knownErrors(ports.keys, true), entries }, before))
    await storage.transaction(async (inner) => {
      await inner.lock({ kind: 'tables', tables, waitMs })
      const change = {
        from,
        keys: { lookupVersion, roots: roots.map((root) => ({ version: root.version, state: stateOf(root) })) },
        sealedRoots: sealed,
        isResealing: true,
      }
      await catalog.store(inner, change, () => removeEntry(inner, before))
    })
  } finally {
    wipeRoots(sealed)
  }
}

/** Adds a look-up key, unless there are two. Nothing is made of it yet, and what is of either is found from now on. */
export async function addLookupKey({ storage, entropy }: KeyChangePorts, catalog: Catalog): Promise<void> {
  const from = catalog.state
  if (lookupVersionsOf(from).length > 1) return
  const { roots, lookupVersion } = from
  const version = nextVersion(from)
  const { sealed } = await sealedRoots(storage, catalog, from)
  sealed.push({ version, key: entropy.bytes(ROOT_BYTES) })
  try {
    const keys = { lookupVersion, roots: [...roots, { version, state: 'lookup' }] } as const
    await storage.transaction((inner) => catalog.store(inner, { from, keys, sealedRoots: sealed }))
  } finally {
    wipeRoots(sealed)
  }
}

/**
 * Makes new digests of a look-up key that all readers know. Writers that made digests of the one before commit first: `tables` are locked meanwhile, for
 * `waitMs` at most. Throws `unavailable` if they take longer: nothing is changed then.
 */
export async function digestBy(
  { storage }: KeyChangePorts,
  catalog: Catalog,
  { from, version, tables, waitMs }: Activation,
): Promise<void> {
  await storage.transaction(async (inner) => {
    await inner.lock({ kind: 'tables', tables, waitMs })
    await catalog.store(inner, { from, digestVersion: version })
  })
}

/** Makes new ids, tokens, cursors and bearers of a look-up key. */
export async function lookUpBy({ storage }: KeyChangePorts, catalog: Catalog, version: number): Promise<void> {
  const from = catalog.state
  await storage.transaction((inner) => catalog.store(inner, { from, keys: { lookupVersion: version, roots: from.roots } }))
}

/** Notes that every body was sealed again with this key, unless a later one is active. */
export async function endResealing(
  { storage }: KeyChangePorts,
  catalog: Catalog,
  version: number,
  patience: Patience = {},
): Promise<void> {
  const from = catalog.state
  if (activeVersion(from) !== version) return
  await patiently(storage, patience, (inner, wait) => catalog.store(inner, { from, isResealing: false, ...wait }))
}

/** Removes a retired root key from the catalog, and notes that and when it was. What is sealed with it can never be opened again. */
export async function removeRootKey({ storage }: KeyChangePorts, catalog: Catalog, version: number, now: number): Promise<void> {
  const from = catalog.state
  const { lookupVersion, roots, destroyed } = from
  const { sealed } = await sealedRoots(storage, catalog, from)
  try {
    const change = {
      from,
      keys: { lookupVersion, roots: roots.filter((root) => root.version !== version) },
      destroyed: [...destroyed, { version, at: now }],
      sealedRoots: sealed.filter((root) => root.version !== version),
    }
    await storage.transaction((inner) => catalog.store(inner, change))
  } finally {
    wipeRoots(sealed)
  }
}

/** Returns the version of the root key that seals. */
export function activeVersion({ roots }: Pick<CatalogState, 'roots'>): number {
  return required(
    roots.find(({ state }) => state === 'active'),
    'The active root key',
  ).version
}

/** Returns the rows of the catalog by their names. */
export async function catalogRows(storage: Storage): Promise<ReadonlyMap<string, Row>> {
  const rows = await storage.find(CATALOG.name, { kind: 'all' }, { order: 'asc', limit: MAX_VERSION })
  return new Map(rows.map((row) => [String(row.entry), row]))
}

/**
 * Returns the root keys that the active one seals, and the rows of the catalog. Throws CATALOG_MOVED if there is a later state: what does not open then
 * is not damaged. Throws `data_loss` for an older copy of the entry, which this process may still open: to store it again would lose a key for ever.
 */
async function sealedRoots(storage: Storage, catalog: Catalog, from: CatalogState) {
  const entries = await catalogRows(storage)
  if (!(await catalog.isCurrent(storage)) || catalog.state !== from) throw CATALOG_MOVED
  const sealed = openRing(catalog.barrier, entries.get('ring'))
  const listed = from.roots.filter(({ state }) => state === 'lookup' || state === 'retired')
  if (sealed.length === listed.length && listed.every(({ version }) => sealed.some((root) => root.version === version)))
    return { entries, sealed }
  wipeRoots(sealed)
  throw damaged('the older root keys in the catalog are an older copy')
}

async function removeEntry(storage: Storage, version: number): Promise<void> {
  const filter = { kind: 'compare', column: 'entry', operator: '=', value: rootEntry(version) } as const
  await storage.delete(CATALOG.name, { filter })
}
