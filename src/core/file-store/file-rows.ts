/** The row of each file: written before its content, so that no content is ever stored that no row names, and removed after it. */
import { type Barrier, sealBodiesOf, UNKNOWN_KEY, whyUnreadable } from '../barrier/barrier.ts'
import { openSealed } from '../barrier/reveal.ts'
import { type Fault, fault, isVaultError } from '../errors.ts'
import { SCAN_STATES, type ScanState } from '../files/scan-state.ts'
import type { BlobStore, ContentTypeDetector } from '../ports/blobs.ts'
import type { Patch, Row, Storage, StorageHandle, StorageReads } from '../ports/storage.ts'
import type { Clock, Scheduler } from '../ports/time.ts'
import { BODY, type Table } from '../schema/layout.ts'
import { FILES, ofRecords } from '../schema/system-tables.ts'
import { bodiesOf, namesUnknownKey, openEntry, sealEntry } from '../sealing/envelope.ts'
import { subjectKeyOf, VAULT_KEY } from '../sealing/subject-bodies.ts'
import { lookUpKeys } from '../subject-keys/key-rows.ts'
import { keyOfRecord } from '../subject-keys/owners.ts'
import { ByteWriter, readUtf8, toHex } from '../util/bytes.ts'
import { at } from '../util/lists.ts'
import { slabItem, toSlab } from '../util/memory.ts'
import { nowMs } from '../util/time.ts'

/** Milliseconds after which an upload that never ended is removed. */
const UPLOAD_LEASE_MS = 24 * 60 * 60_000
/** Length of a key of the blob store, in bytes. */
const KEY_BYTES = 16
/** Length of the key that seals a content, in bytes. */
const SECRET_BYTES = 32

/** The files of one vault. */
export interface FileContext {
  readonly barrier: Barrier
  readonly clock: Clock
  readonly scheduler: Scheduler
  /** The storage outside any transaction. */
  readonly storage: StorageHandle
  readonly blobs: BlobStore
  readonly contentTypes: ContentTypeDetector
  /** Reads the catalog again, for root keys that another process added. */
  reloadKeys(): Promise<void>
  /** Runs work that seals and stores, in one transaction; again if another process changed the catalog, so that nothing is stored under a retired key. */
  underNewestKeys<T>(work: (storage: Storage) => Promise<T>): Promise<T>
}

/** What the sealed body of a file's row says. */
export interface FileEntry {
  /**
   * The key that the content is sealed with, drawn for each upload: without this row no key opens the content. For a record that is sealed with the key of a
   * subject it is sealed with that, too; `contentSecret` opens it.
   */
  readonly secret: Uint8Array
  /** Key of the content in the blob store: 32 hex digits. */
  readonly key: string
  readonly state: ScanState
  /** Length of the content in bytes; 0 during the upload. */
  readonly size: number
  /** Number of failed scans since the last one that did not fail. */
  readonly failures: number
  /** After a successful upload by ticket, the row stays after its content is removed until this time, in milliseconds since 1970, so that a ticket is not redeemed twice. */
  readonly keepUntil: number
}

/** A file's row, opened. */
export interface OpenedFile {
  readonly id: number
  readonly version: number
  readonly entry: FileEntry
  /** When the file is removed, in milliseconds since 1970; null for a file of a record. */
  readonly removeAt: number | null
  readonly tableId: number
  readonly rowId: number | null
}

/** A new file, and the key of its content. */
export interface NewFile {
  readonly id: number
  readonly entry: FileEntry
  /** When an upload that never ends is removed, in milliseconds since 1970. */
  readonly removeAt: number
}

type Keys = Pick<Barrier, 'ring' | 'vault' | 'signalsUnknownKeys' | 'destroyed'>

/** Returns the id of a new file. */
export async function reserveFile(storage: StorageReads): Promise<number> {
  return at(await storage.reserveIds(FILES.name, 1), 0)
}

/** Writes the row of an upload that begins. Throws `conflict` if the id is in use: an upload with this ticket began before. */
export async function beginFile(
  context: FileContext,
  table: Table,
  { id, keepUntil }: { readonly id: number; readonly keepUntil: number },
): Promise<NewFile> {
  const { entropy } = context.barrier
  const key = toHex(entropy.bytes(KEY_BYTES))
  const entry: FileEntry = { secret: entropy.bytes(SECRET_BYTES), key, state: 'pending', size: 0, failures: 0, keepUntil }
  const removeAt = nowMs(context) + UPLOAD_LEASE_MS
  const row = { id, table_id: table.objectId, row_id: null, scan_at: null, remove_at: removeAt }
  try {
    await context.underNewestKeys((inner) => inner.insert(FILES.name, [{ ...row, body: sealFile(context.barrier, id, entry) }]))
  } catch (error) {
    throw isVaultError(error, 'conflict') ? fault('conflict')`This upload has begun before.` : error
  }
  return { id, entry, removeAt }
}

/** Makes an uploaded file the file of a record. It is to be scanned from now on. Throws `aborted` if the upload was removed as abandoned. */
export async function attachFile(
  storage: Storage,
  context: Pick<FileContext, 'clock' | 'barrier'>,
  { file, table, rowId, size }: { readonly file: NewFile; readonly table: Table; readonly rowId: number; readonly size: number },
): Promise<void> {
  const secret = sealSecret(context.barrier, file.id, file.entry.secret, await keyOfRecord(storage, table, rowId))
  const body = sealFile(context.barrier, file.id, { ...file.entry, secret, size })
  const set = { body, row_id: rowId, scan_at: nowMs(context), remove_at: null }
  const { id, removeAt } = file
  const filter = { kind: 'compare', column: 'id', operator: '=', value: id } as const
  // A rotation of keys seals the row again, and raises its version. A removal changes its time.
  for (let version = FIRST_VERSION; ; ) {
    const [isAttached] = await storage.update(FILES.name, [{ id, version, set, expected: { remove_at: removeAt } }])
    if (isAttached === true) return
    const [row] = await storage.find(FILES.name, filter, { order: 'asc', limit: 1, columns: ['remove_at'], newest: true })
    if (row?.remove_at !== removeAt || row.version === version) throw uploadRemoved()
    version = row.version
  }
}

/** Returns the key of a content as it is stored with a file: sealed with the key of a subject, if that of its record is one. */
function sealSecret(barrier: Barrier, id: number, secret: Uint8Array, key: number): Uint8Array {
  if (key === VAULT_KEY) return secret
  return slabItem(sealBodiesOf(barrier, SECRET_OBJECT_ID, { ids: [id], plaintexts: toSlab([secret]), keys: [key] }), 0)
}

/** Returns the key that a content is sealed with. Throws `data_loss` if it is that of a person who was forgotten. */
export async function contentSecret(
  storage: StorageReads,
  { barrier, reloadKeys }: Pick<FileContext, 'barrier'> & Partial<Pick<FileContext, 'reloadKeys'>>,
  { id, entry: { secret } }: Pick<OpenedFile, 'id' | 'entry'>,
): Promise<Uint8Array> {
  if (secret.length === SECRET_BYTES) return secret
  const reload = async (): Promise<void> => reloadKeys?.()
  await lookUpKeys(storage, { barrier, reload }, new Set([subjectKeyOf(secret)]))
  const { plaintexts, opened } = openSealed(barrier, SECRET_OBJECT_ID, [{ id, version: FIRST_VERSION, [BODY]: secret }])
  if (opened[0] !== 1) throw fault('data_loss')`The content of this file ${whyUnreadable(barrier, secret)}`
  return slabItem(plaintexts, 0)
}

/** Seals the keys of the contents of these records with the key that the records have now. Returns false if a file was changed meanwhile. */
export async function moveSecrets(
  storage: Storage,
  barrier: Barrier,
  { table, records, key }: { readonly table: Table; readonly records: readonly number[]; readonly key: number },
): Promise<boolean> {
  const rows = await storage.find(FILES.name, ofRecords(table, records), { order: 'asc', limit: Number.MAX_SAFE_INTEGER })
  const patches: Patch[] = []
  for (const file of rows.map((row) => openFileRow(barrier, row))) {
    const { id, entry } = file
    if (file.removeAt !== null || keyOfSecret(entry) === key) continue
    const secret = sealSecret(barrier, id, await contentSecret(storage, { barrier }, file), key)
    patches.push(patchOf(barrier, file, { ...entry, secret }, {}))
  }
  return !(await storage.update(FILES.name, patches)).includes(false)
}

function keyOfSecret({ secret }: FileEntry): number {
  return secret.length === SECRET_BYTES ? VAULT_KEY : subjectKeyOf(secret)
}

/** What the key of a content is bound to, beside the row of its file. */
const SECRET_OBJECT_ID = bodiesOf('file').objectId

/** Returns the error of an upload that was removed as abandoned while it was still running. */
export function uploadRemoved(): Fault {
  return fault('aborted')`The upload took too long and was removed. Upload the file again.`
}

/** Version of the row of an upload that begins. */
const FIRST_VERSION = 1

/** Returns the file of each id, in order; undefined if it does not exist. Throws `data_loss` for a row that fails authentication. */
export async function readFiles(
  storage: StorageReads,
  barrier: Keys,
  ids: readonly number[],
): Promise<readonly (OpenedFile | undefined)[]> {
  if (ids.length === 0) return []
  const rows = await storage.get(FILES.name, ids)
  return rows.map((row) => (row === undefined ? undefined : openFileRow(barrier, row)))
}

/** Returns the patch that stores another entry, with the times when it is due. */
export function patchOf(barrier: Keys, file: OpenedFile, entry: FileEntry, due: Patch['set']): Patch {
  return { id: file.id, version: file.version, set: { body: sealFile(barrier, file.id, entry), ...due } }
}

/** Layout of the plaintext in bytes: length of the secret 1 | secret | the other members in JSON. The secret is no text, because texts cannot be overwritten. */
function sealFile({ ring, vault }: Keys, id: number, { secret, ...entry }: FileEntry): Uint8Array {
  const out = new ByteWriter(208)
  out.u8(secret.length)
  out.raw(secret)
  out.utf8(JSON.stringify(entry))
  return sealEntry({ ring, vault, kind: 'file', id }, out.written())
}

/** Returns a row opened. Throws `data_loss` if it fails authentication. */
function openFileRow(keys: Keys, row: Row): OpenedFile {
  const { ring, vault, signalsUnknownKeys } = keys
  const { id, version, body } = row
  if (signalsUnknownKeys === true && hasUnknownKey(ring, row)) throw UNKNOWN_KEY
  const plaintext = body instanceof Uint8Array ? openEntry({ ring, vault, kind: 'file', id }, body) : undefined
  const entry = plaintext === undefined ? undefined : toEntry(plaintext)
  if (entry === undefined)
    throw fault('data_loss')`The row of a file ${whyUnreadable(keys, body instanceof Uint8Array ? body : new Uint8Array(0))}`
  return {
    id,
    version,
    entry,
    removeAt: numberOf(row.remove_at),
    tableId: numberOf(row.table_id) ?? 0,
    rowId: numberOf(row.row_id),
  }
}

/** Returns rows opened, outside any operation; undefined for one that fails authentication. Keys that another process added are read first. */
export async function openFileRows(
  { barrier, reloadKeys }: Pick<FileContext, 'barrier' | 'reloadKeys'>,
  rows: readonly Row[],
): Promise<readonly (OpenedFile | undefined)[]> {
  if (rows.some((row) => hasUnknownKey(barrier.ring, row))) await reloadKeys()
  return rows.map((row) => tryOpenFileRow(barrier, row))
}

function hasUnknownKey(ring: Keys['ring'], { body }: Row): boolean {
  return body instanceof Uint8Array && namesUnknownKey(ring, body)
}

/** Returns a row opened; undefined if it fails authentication. `verifyRecords` reports such a row if it is of a record. */
export function tryOpenFileRow(barrier: Keys, row: Row): OpenedFile | undefined {
  try {
    return openFileRow(barrier, row)
  } catch (error) {
    if (isVaultError(error, 'data_loss')) return undefined
    throw error
  }
}

/** Returns what the body says. It was authenticated, so its shape is that of `sealFile`. */
function toEntry(plaintext: Uint8Array): FileEntry | undefined {
  const end = 1 + at(plaintext, 0)
  const { key, state, size, failures, keepUntil }: Partial<FileEntry> = JSON.parse(readUtf8(plaintext, end, plaintext.length))
  if (key === undefined || state === undefined || !SCAN_STATES.includes(state)) return undefined
  // A copy: the plaintext can be a part of a longer memory.
  return {
    secret: plaintext.slice(1, end),
    key,
    state,
    size: size ?? 0,
    failures: failures ?? 0,
    keepUntil: keepUntil ?? 0,
  }
}

function numberOf(cell: unknown): number | null {
  return typeof cell === 'number' ? cell : null
}
