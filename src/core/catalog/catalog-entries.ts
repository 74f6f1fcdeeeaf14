/** The stored entries of a catalog: how they are read, sealed and opened. */
import { decodeHead } from '../audit/chain.ts'
import { VaultError } from '../errors.ts'
import type { KeyRing, RootKeySet } from '../ports/crypto.ts'
import type { Row, Storage } from '../ports/storage.ts'
import type { CatalogSchema } from '../schema/catalog-schema.ts'
import { AUDIT_CHAINS, CATALOG, MARKER } from '../schema/system-tables.ts'
import { openEntries as openAuditEntries } from '../sealing/audit-entry.ts'
import { openEntry, sealEntry } from '../sealing/sealed-entry.ts'
import { ByteWriter, readUtf8 } from '../util/bytes.ts'
import { slabItem } from '../util/memory.ts'

/** Row id of the one marker. */
export const MARKER_ID = 1
/** Maximum number of rows read: far more than the root keys a vault can have. */
const MAX_ENTRIES = 100_000
/** Number of chain heads that an opening compares with the catalog. All heads have its generation, so any of them shows an older copy. */
const HEADS_COMPARED = 8

/** What the sealed entry of a catalog says: its generation, the states of the root keys, and the schema. */
export interface CatalogState extends RootKeySet {
  readonly schema: CatalogSchema
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
  return sealEntry({ ...keys, kind: 'schema', id }, utf8(JSON.stringify(state)))
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
  return sealEntry({ ...keys, kind: 'marker', id: MARKER_ID }, utf8(String(generation)))
}

/** Returns the generation that the marker has. Throws `data_loss` if it is missing or fails authentication. */
function openMarker(keys: CatalogKeys, marker: Row | undefined): number {
  if (marker === undefined) throw damaged('the marker of its founding is missing')
  const { body } = marker
  const plaintext = body instanceof Uint8Array ? openEntry({ ...keys, kind: 'marker', id: MARKER_ID }, body) : undefined
  if (plaintext === undefined) throw damaged('the marker of its founding failed authentication')
  return Number(readUtf8(plaintext, 0, plaintext.length))
}

/** Throws `data_loss` for a catalog that is older than the marker or the audit trail: numbers of columns would be assigned again. */
export function assertNotRolledBack(keys: CatalogKeys, { generation }: CatalogState, { marker, heads }: CatalogRows): void {
  const isOlder = [openMarker(keys, marker), ...headGenerations(keys, heads)].some((known) => known > generation)
  if (isOlder) throw damaged('its catalog is an older copy than its records')
}

/** Returns the generations of these heads. One that fails authentication is left out: `verifyAudit` reports it. */
function headGenerations({ ring, vault }: CatalogKeys, heads: readonly Row[]): number[] {
  const sealed = heads.map(({ body }) => (body instanceof Uint8Array ? body : new Uint8Array(0)))
  const ids = heads.map(({ id }) => id)
  const { plaintexts, opened } = openAuditEntries({ ring, vault, kind: 'head' }, ids, sealed)
  return heads.flatMap((_, index) => (opened[index] === 1 ? [decodeHead(slabItem(plaintexts, index)).keys.generation] : []))
}

/** Returns a text as bytes. */
export function utf8(text: string): Uint8Array {
  const out = new ByteWriter(text.length + 16)
  out.utf8(text)
  return out.written()
}

/** Returns the error for a catalog that cannot be used. */
export function damaged(problem: string): VaultError {
  return new VaultError('data_loss', `Cannot open the vault: ${problem}. Restore it from a backup.`)
}
