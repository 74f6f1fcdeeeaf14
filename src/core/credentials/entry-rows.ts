/** Rows of the table of credentials: found by the digest of their name, sealed, and compared with that name again once they are open. */
import { type Barrier, UNKNOWN_KEY, whyUnreadable } from '../barrier/barrier.ts'
import { digestItems } from '../barrier/digest-values.ts'
import { type Fault, fault } from '../errors.ts'
import type { MaintenancePass } from '../maintenance/job.ts'
import { DIGEST_BYTES } from '../ports/crypto.ts'
import type { NewRow, Page, Patch, Row, Storage, StorageReads } from '../ports/storage.ts'
import type { Clock } from '../ports/time.ts'
import { CREDENTIALS } from '../schema/system-tables.ts'
import { namesUnknownKey, openEntry, sealEntry, writeHeader } from '../sealing/envelope.ts'
import { keyOfBytes, readUtf8, toUtf8 } from '../util/bytes.ts'
import { at, required } from '../util/lists.ts'
import { textsToSlab } from '../util/memory.ts'
import { nowMs } from '../util/time.ts'

/** What a row can be, as the plain column `kind` says it. */
const KINDS = { credential: 1, revocation: 2, nonce: 3, write: 4, hold: 5 } as const

/** Scope of the digests of names. */
const SCOPE = 'credential'
/** Length of the body that is opened in place of a missing one, in bytes: about that of a credential. */
const DECOY_BYTES = 512

/** The name of a row: a key id, the id of a revoked JWT, what serves once, the digest of an idempotency key, or what a legal hold is of. */
export interface EntryName {
  readonly kind: keyof typeof KINDS
  readonly name: string
}

/** What the sealed body of a row says. */
export interface Entry extends EntryName {
  /** Milliseconds since 1970; null: never. */
  readonly expiresAt: number | null
  /** JSON data of the kind. */
  readonly content: unknown
}

/** A row, opened. */
export interface OpenedEntry {
  readonly id: number
  readonly version: number
  readonly entry: Entry
}

/** The dependencies of sealing and opening rows. */
export type EntryKeys = Pick<Barrier, 'ring' | 'vault' | 'signalsUnknownKeys' | 'destroyed'>

/** Returns the row of a new entry. Throws `conflict`, as storing it would, for a name that is stored by an older root key. */
export async function newEntryRow(storage: StorageReads, keys: EntryKeys, entry: Entry): Promise<NewRow> {
  if (keys.ring.lookupVersions.length > 1 && (await entriesIn(storage, keys, true)([entry]))[0] !== undefined)
    throw fault('conflict')`The name of an entry is in use.`
  const id = at(await storage.reserveIds(CREDENTIALS.name, 1), 0)
  const digest = at(digestTexts(keys, [toText(entry)]), 0)
  return { id, digest, kind: KINDS[entry.kind], body: sealBody(keys, id, entry), expires_at: entry.expiresAt }
}

/** Returns the patch that stores another entry of the same name. */
export function entryPatch(keys: EntryKeys, { id, version }: OpenedEntry, entry: Entry): Patch {
  return { id, version, set: { body: sealBody(keys, id, entry), expires_at: entry.expiresAt } }
}

/** Finds the entry of each name, in order; undefined if it does not exist. */
export type FindEntries = (names: readonly EntryName[]) => Promise<readonly (OpenedEntry | undefined)[]>

/** Returns what finds entries in one storage. `newest` as for a page. Errors are those of opening. */
export function entriesIn(storage: StorageReads, keys: EntryKeys, newest = false): FindEntries {
  return async (names) => {
    const open = await locateEntries(storage, keys, { names, newest })
    return names.map((name) => open(keys, name))
  }
}

/**
 * Opens the row of a name; undefined if there is none, after the work of opening one. That work is done once for all who ask, and each of them
 * gets content of their own. Throws `data_loss` for a row that fails authentication, or that is of another name; UNKNOWN_KEY as the keys say.
 */
export type OpenLocated = (keys: EntryKeys, name: EntryName) => OpenedEntry | undefined

/** Reads the rows of names, and returns what opens them. One indexed read, also if some of them do not open. */
export async function locateEntries(
  storage: StorageReads,
  keys: EntryKeys,
  { names, newest = false }: { readonly names: readonly EntryName[]; readonly newest?: boolean },
): Promise<OpenLocated> {
  const texts = [...new Set(names.map(toText))]
  const digests = digestTexts(keys, texts)
  const [, version] = keys.ring.lookupVersions
  const older = version === undefined ? [] : digestTexts(keys, texts, version)
  const values = [...digests, ...older]
  const filter = { kind: 'in', column: 'digest', values } as const
  const rows = await storage.find(CREDENTIALS.name, filter, { order: 'asc', limit: values.length, newest })
  const byDigest = new Map(rows.flatMap((row) => (row.digest instanceof Uint8Array ? [[keyOfBytes(row.digest), row]] : [])))
  const located = new Map<string, { readonly row: Row | undefined; content?: string }>()
  for (const [index, text] of texts.entries()) {
    const own = [digests[index], older[index]].filter((digest) => digest !== undefined)
    const row = own.map((digest) => byDigest.get(keyOfBytes(digest))).find((found) => found !== undefined)
    located.set(text, { row })
  }
  return (own, name) => {
    const found = required(located.get(toText(name)))
    const { row } = found
    found.content ??= row === undefined ? readDecoy(own) : readRow(own, row)
    if (row === undefined) return undefined
    const opened = { id: row.id, version: row.version, entry: parseEntry(found.content) }
    if (opened.entry.kind !== name.kind || opened.entry.name !== name.name) throw unauthentic(own)
    return opened
  }
}

/** Returns a page of the entries of a kind, in the order they were stored. Throws `data_loss` for a row that fails authentication. */
export async function listEntries(
  storage: StorageReads,
  keys: EntryKeys,
  { kind, page }: { readonly kind: EntryName['kind']; readonly page: Page },
): Promise<readonly OpenedEntry[]> {
  const filter = { kind: 'compare', column: 'kind', operator: '=', value: KINDS[kind] } as const
  const rows = await storage.find(CREDENTIALS.name, filter, page)
  return rows.map((row) => {
    const entry = parseEntry(readRow(keys, row))
    if (entry.kind !== kind) throw unauthentic(keys)
    return { id: row.id, version: row.version, entry }
  })
}

/** Returns the text of a name. A kind has no colon, so no two names have the same. */
function toText({ kind, name }: EntryName): string {
  return `${kind}:${name}`
}

/** Returns the digest of the text of each name, in order, by default of the newest root key. */
function digestTexts({ ring }: EntryKeys, texts: readonly string[], version?: number): Uint8Array[] {
  const digests = digestItems(ring, SCOPE, textsToSlab(texts), version)
  return texts.map((_, index) => digests.slice(index * DIGEST_BYTES, (index + 1) * DIGEST_BYTES))
}

/** Returns the digests of the name of each row by every root key that looks up, the newest first; undefined for a row that fails authentication. */
export function entryDigests(keys: EntryKeys, rows: readonly Row[]): (readonly Uint8Array[] | undefined)[] {
  return rows.map((row) => {
    const plaintext = row.body instanceof Uint8Array ? openBody(keys, row.id, row.body) : undefined
    if (plaintext === undefined) return undefined
    const entry = parseEntry(readUtf8(plaintext, 0, plaintext.length))
    return keys.ring.lookupVersions.flatMap((version) => digestTexts(keys, [toText(entry)], version))
  })
}

function sealBody({ ring, vault }: EntryKeys, id: number, { kind, name, expiresAt, content }: Entry): Uint8Array {
  return sealEntry({ ring, vault, kind: 'credential', id }, toUtf8(JSON.stringify({ kind, name, expiresAt, content })))
}

/** Returns the text of a row. Throws `data_loss` if it fails authentication. */
function readRow(keys: EntryKeys, { id, body }: Row): string {
  const plaintext = body instanceof Uint8Array ? openBody(keys, id, body) : undefined
  if (plaintext === undefined) throw unauthentic(keys, body instanceof Uint8Array ? body : undefined)
  return readUtf8(plaintext, 0, plaintext.length)
}

/** Does the work of reading a row. */
function readDecoy(keys: EntryKeys): string {
  openBody(keys, 0, decoy(keys))
  return ''
}

/** The text was authenticated, so it is what `sealBody` wrote. */
function parseEntry(text: string): Entry {
  return JSON.parse(text) as Entry
}

/** Returns a body opened; undefined if it fails authentication. Throws UNKNOWN_KEY if its key may be in the catalog. */
function openBody({ ring, vault, signalsUnknownKeys }: EntryKeys, id: number, body: Uint8Array): Uint8Array | undefined {
  if (signalsUnknownKeys === true && namesUnknownKey(ring, body)) throw UNKNOWN_KEY
  return openEntry({ ring, vault, kind: 'credential', id }, body)
}

/** Returns a body that does not open. */
function decoy({ ring }: EntryKeys): Uint8Array {
  const body = new Uint8Array(DECOY_BYTES)
  body.set(writeHeader(ring.activeVersion))
  return body
}

function unauthentic(keys: EntryKeys, body: Uint8Array = new Uint8Array(0)): Fault {
  return fault('data_loss')`The row of a credential ${whyUnreadable(keys, body)}`
}

/** Maximum number of rows that one slice deletes. */
const SLICE = 500
/** Milliseconds that a row stays after it expired: a JWT may be accepted for a moment after its time, and clocks of processes differ. */
const GRACE_MS = 60 * 60_000

/** Returns the pass that deletes them. Each slice is one transaction. */
export function expiredCredentialsPass(storage: Storage, context: { readonly clock: Clock }): MaintenancePass {
  const filter = { kind: 'compare', column: 'expires_at', operator: '<', value: nowMs(context) - GRACE_MS } as const
  return {
    async slice() {
      const rows = await storage.transaction(async (inner) => {
        const expired = await inner.find(CREDENTIALS.name, filter, { order: 'asc', limit: SLICE, columns: [] })
        const ids = expired.map(({ id }) => id)
        return ids.length === 0 ? 0 : (await inner.delete(CREDENTIALS.name, { ids })).length
      })
      return { rows, isLast: rows < SLICE }
    },
  }
}
