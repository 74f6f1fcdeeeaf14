/** Stores, finds and revokes credentials, and refuses what serves only once the second time. */
import { isVaultError } from '../errors.ts'
import type { NewRow, Storage, StorageReads } from '../ports/storage.ts'
import { CREDENTIALS } from '../schema/system-tables.ts'
import type { StoredCredential } from './credential.ts'
import {
  type Entry,
  type EntryKeys,
  type EntryName,
  entryPatch,
  findEntries,
  listEntries,
  newEntryRow,
  type OpenedEntry,
} from './entry-rows.ts'

/** Maximum length of the name of an entry, such as the id of a JWT, in UTF-16 units: that of a whole credential. */
export const MAX_ENTRY_NAME_LENGTH = 8192

/** Something that serves only once, such as the text of an assertion. */
export interface Nonce {
  readonly text: string
  /** From then on it is refused for its age, in milliseconds since 1970. */
  readonly expiresAt: number
}

/** A credential, and the row that has it. */
export interface FoundCredential {
  readonly opened: OpenedEntry
  readonly credential: StoredCredential
}

/** Returns the row of a new credential. */
export function newCredentialRow(storage: StorageReads, keys: EntryKeys, credential: StoredCredential): Promise<NewRow> {
  return newEntryRow(storage, keys, entryOf(credential))
}

/** Returns the credential of a key id; undefined if it does not exist. `newest` as for a page. One indexed read. */
export async function findCredential(
  storage: StorageReads,
  keys: EntryKeys,
  { keyId, newest = false }: { readonly keyId: string; readonly newest?: boolean },
): Promise<FoundCredential | undefined> {
  const [opened] = await findEntries(storage, keys, { names: [{ kind: 'credential', name: keyId }], newest })
  return opened === undefined ? undefined : { opened, credential: credentialOf(opened) }
}

/** Returns a page of credentials, in the order they were created. */
export async function listCredentialRows(
  storage: StorageReads,
  keys: EntryKeys,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): Promise<readonly StoredCredential[]> {
  const entries = await listEntries(storage, keys, { kind: 'credential', page: { order: 'asc', offset, limit } })
  return entries.map(credentialOf)
}

/** Stores a credential as revoked. Returns false if it was changed since it was found. */
export async function storeRevoked(storage: Storage, keys: EntryKeys, { opened, credential }: FoundCredential): Promise<boolean> {
  const [isStored] = await storage.update(CREDENTIALS.name, [entryPatch(keys, opened, entryOf(credential))])
  return isStored === true
}

/** Returns whether the JWT of this id is revoked. One indexed read. */
export async function isRevokedJwt(storage: StorageReads, keys: EntryKeys, jti: string): Promise<boolean> {
  const [found] = await findEntries(storage, keys, { names: [revocationName(jti)] })
  return found !== undefined
}

/** Returns a credential, and whether a JWT is revoked, in one indexed read: what a bearer of a service account depends on. */
export async function findForBearer(
  storage: StorageReads,
  keys: EntryKeys,
  { keyId, jti }: { readonly keyId: string; readonly jti: string },
): Promise<{ readonly credential: StoredCredential | undefined; readonly isRevoked: boolean }> {
  const names = [{ kind: 'credential', name: keyId } as const, revocationName(jti)]
  const [opened, revocation] = await findEntries(storage, keys, { names })
  return { credential: opened === undefined ? undefined : credentialOf(opened), isRevoked: revocation !== undefined }
}

/**
 * Stores that a JWT is revoked, until it expires, in milliseconds since 1970. Revoked again, it stays so until the later of both times.
 * Throws `conflict` if another caller revokes it at the same time; the next call then finds that.
 */
export async function storeRevokedJwt(
  storage: Storage,
  keys: EntryKeys,
  { jti, expiresAt }: { readonly jti: string; readonly expiresAt: number },
): Promise<void> {
  const name = revocationName(jti)
  const entry: Entry = { ...name, expiresAt, content: null }
  const [found] = await findEntries(storage, keys, { names: [name], newest: true })
  if (found === undefined) return storage.insert(CREDENTIALS.name, [await newEntryRow(storage, keys, entry)])
  if ((found.entry.expiresAt ?? 0) < expiresAt) await storage.update(CREDENTIALS.name, [entryPatch(keys, found, entry)])
}

/** Stores that something has served. Throws `conflict` if it had before, in whatever process. */
export async function storeSpent(storage: Storage, keys: EntryKeys, { text, expiresAt }: Nonce): Promise<void> {
  const row = await newEntryRow(storage, keys, { kind: 'nonce', name: text, expiresAt, content: null })
  await storage.insert(CREDENTIALS.name, [row])
}

/** The same outside a transaction: returns whether it is the first time. */
export async function spendOnce(storage: Storage, keys: EntryKeys, nonce: Nonce): Promise<boolean> {
  try {
    await storeSpent(storage, keys, nonce)
    return true
  } catch (error) {
    if (isVaultError(error, 'conflict')) return false
    throw error
  }
}

function revocationName(jti: string): EntryName {
  return { kind: 'revocation', name: jti }
}

function entryOf(credential: StoredCredential): Entry {
  return { kind: 'credential', name: credential.keyId, expiresAt: credential.expiresAt ?? null, content: credential }
}

/** The content was authenticated with its kind, so it is what `entryOf` wrote. */
function credentialOf({ entry }: OpenedEntry): StoredCredential {
  return entry.content as StoredCredential
}
