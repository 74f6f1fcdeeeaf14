/** The stored entries of a catalog: how they are read, sealed and opened. */
import { type ChainHead, decodeHead, encodeHead } from '../audit/chain.ts'
import { CATALOG_MOVED, type DestroyedKey } from '../barrier/barrier.ts'
import { VaultError } from '../errors.ts'
import { eachPage } from '../pace/pace.ts'
import type { KeyRing, RootKeySet } from '../ports/crypto.ts'
import type { Patch, Row, Storage } from '../ports/storage.ts'
import type { CatalogSchema } from '../schema/catalog-schema.ts'
import { AUDIT_CHAINS, CATALOG, MARKER } from '../schema/system-tables.ts'
import { openEntries, openEntry, readVersion, sealEntries, sealEntry } from '../sealing/envelope.ts'
import { readUtf8, toUtf8 } from '../util/bytes.ts'
import { slabItem } from '../util/memory.ts'

/** Row id of the one marker. */
export const MARKER_ID = 1
/** Maximum number of rows read: far more than the root keys a vault can have. */
const MAX_ENTRIES = 100_000
/** Number of chain heads that an opening compares with the catalog. All heads have its generation, so any of them shows an older copy. */
const HEADS_COMPARED = 8

/** The stored format that this release writes, and the first release that knew it. Raised by whatever an older release would misread or drop. */
export const STORED_FORMAT = { number: 1, release: '0.1.0' } as const

/** What the sealed entry of a catalog says. It is stored with members that only later releases know. */
export interface CatalogState extends RootKeySet {
  readonly format: { readonly number: number; readonly release: string }
  /** 32 random bytes in base64, drawn at the founding. Their hash is the fingerprint of the vault. */
  readonly identity: string
  /** When each root key got its state, in milliseconds since 1970, by its version. */
  readonly since: Readonly<Record<string, number>>
  /** Version of the root key for new digests. Another one than `lookupVersion` only while look-up keys are rotated. */
  readonly digestVersion: number
  /** True from the activation of a root key until every body was sealed again with it. */
  readonly isResealing: boolean
  /** The root keys that were destroyed, and when, in milliseconds since 1970. */
  readonly destroyed: readonly DestroyedKey[]
  /** Number of legal holds. Writers compare the catalog, so none misses the first hold, or a further one. */
  readonly holds: number
  readonly schema: CatalogSchema
}

/** Returns the newest version of the root keys of a state. Destroyed ones count, where they are given: a version is used once. */
export function newestVersion({
  roots,
  destroyed = [],
}: {
  readonly roots: RootKeySet['roots']
  readonly destroyed?: readonly DestroyedKey[]
}): number {
  return [...roots, ...destroyed].reduce((newest, { version }) => Math.max(newest, version), 0)
}

/** The keys and the vault of a catalog. `vault` is the 16-byte digest of the vault id. */
export interface CatalogKeys {
  readonly ring: KeyRing
  readonly vault: Uint8Array
}

/** The rows that an opening reads. */
export interface CatalogRows {
  /** The rows of the catalog by their names. */
  readonly entries: ReadonlyMap<string, Row>
  readonly marker: Row | undefined
  readonly heads: readonly Row[]
}

/** Reads the rows. The entries are read last: a change that commits meanwhile then makes them newer than the others, never older. */
export async function readCatalogRows(storage: Pick<Storage, 'get' | 'find'>): Promise<CatalogRows> {
  const [marker] = await storage.get(MARKER.name, [MARKER_ID])
  const heads = await storage.find(AUDIT_CHAINS.name, { kind: 'all' }, { order: 'asc', limit: HEADS_COMPARED })
  const rows = await storage.find(CATALOG.name, { kind: 'all' }, { order: 'asc', limit: MAX_ENTRIES })
  return { entries: new Map(rows.map((row) => [String(row.entry), row])), marker, heads }
}

/** Seals the state. It is not secret, but an attacker who could change ordinals could make one column be read as another. */
export function sealState(keys: CatalogKeys, id: number, state: CatalogState): Uint8Array {
  return sealEntry({ ...keys, kind: 'schema', id }, toUtf8(JSON.stringify(state)))
}

/** Returns the state. Throws `data_loss` if it fails authentication. */
export function openState(keys: CatalogKeys, { id, content }: Row): CatalogState {
  const plaintext = content instanceof Uint8Array ? openEntry({ ...keys, kind: 'schema', id }, content) : undefined
  if (plaintext === undefined) throw damaged('the schema in the catalog failed authentication')
  // The cast is safe: only `sealState` makes a plaintext that is authentic.
  return JSON.parse(readUtf8(plaintext, 0, plaintext.length)) as CatalogState
}

/** Seals the marker. */
export function sealMarker(keys: CatalogKeys, generation: number): Uint8Array {
  return sealEntry({ ...keys, kind: 'marker', id: MARKER_ID }, toUtf8(String(generation)))
}

/** Returns the generation that the marker has. Throws `data_loss` if it is missing or fails authentication. */
function openMarker(keys: CatalogKeys, marker: Row | undefined): number {
  if (marker === undefined) throw damaged('the marker of its founding is missing')
  const { body } = marker
  const plaintext = body instanceof Uint8Array ? openEntry({ ...keys, kind: 'marker', id: MARKER_ID }, body) : undefined
  if (plaintext === undefined) throw damaged('the marker of its founding failed authentication')
  return Number(readUtf8(plaintext, 0, plaintext.length))
}

/** Throws `data_loss` for a catalog that is older than the marker or the audit trail: numbers of columns would be assigned again. A vault that is open already lets `verifyAudit` report heads that do not open. */
export function assertNotRolledBack(
  keys: CatalogKeys,
  state: CatalogState,
  { rows: { marker, heads }, isOpening }: { readonly rows: CatalogRows; readonly isOpening: boolean },
): void {
  const { generation } = state
  const newest = newestVersion(state)
  const isOlder = [openMarker(keys, marker), ...headGenerations(keys, heads)].some((known) => known > generation)
  if (isOlder || (isOpening && heads.some((row) => namesLater(row, newest))))
    throw damaged('its catalog is an older copy than its records')
}

/** Later versions of root keys that a head is believed to name. One of any other was changed in the database: `verifyAudit` reports it. */
const MAX_LATER = 64

/** True for a head of a later root key, which does not open. The key was listed before it sealed anything. */
function namesLater({ body }: Row, newest: number): boolean {
  const version = body instanceof Uint8Array ? readVersion(body, 0, body.length) : 0
  return version > newest && version <= newest + MAX_LATER
}

/** Returns the generations of these heads. */
function headGenerations(keys: CatalogKeys, heads: readonly Row[]): number[] {
  return openHeads(keys, heads).map(({ head }) => head.keys.generation)
}

/** Returns these heads opened. One that fails authentication is left out: `verifyAudit` reports it. */
function openHeads({ ring, vault }: CatalogKeys, rows: readonly Row[]): { readonly row: Row; readonly head: ChainHead }[] {
  const sealed = rows.map(({ body }) => (body instanceof Uint8Array ? body : new Uint8Array(0)))
  const ids = rows.map(({ id }) => id)
  const { plaintexts, opened } = openEntries({ ring, vault, kind: 'head' }, ids, sealed)
  return rows.flatMap((row, index) => (opened[index] === 1 ? [{ row, head: decodeHead(slabItem(plaintexts, index)) }] : []))
}

/** Returns the error for a catalog that cannot be used. */
export function damaged(problem: string): VaultError {
  return new VaultError('data_loss', `Cannot open the vault: ${problem}. Restore it from a backup.`)
}

/**
 * Raises all heads, inside the transaction that changes the catalog and as its last step, because appending waits meanwhile. A chain
 * that begins at the same time is raised, too, or its process finds the new catalog. A head that fails authentication is left as it is.
 */
export async function raiseHeads(storage: Storage, barrier: CatalogKeys, keys: RootKeySet, waitMs?: number): Promise<void> {
  await storage.lock({ kind: 'tables', tables: [AUDIT_CHAINS.name], ...(waitMs !== undefined && { waitMs }) })
  for await (const rows of eachPage(storage, AUDIT_CHAINS.name)) {
    const patches = raisedHeads(barrier, keys, rows)
    if ((await storage.update(AUDIT_CHAINS.name, patches)).includes(false)) throw CATALOG_MOVED
  }
}

function raisedHeads(
  { ring, vault }: CatalogKeys,
  { generation, lookupVersion, roots }: RootKeySet,
  rows: readonly Row[],
): Patch[] {
  const authentic = openHeads({ ring, vault }, rows)
  const raised = sealEntries(
    { ring, vault, kind: 'head' },
    authentic.map(({ row }) => row.id),
    authentic.map(({ head }) => encodeHead({ ...head, keys: { generation, lookupVersion, roots } })),
  )
  return authentic.map(({ row: { id, version } }, index) => ({ id, version, set: { body: slabItem(raised, index) } }))
}
