/** Stores, finds and revokes credentials, and refuses what serves only once the second time. */
import { isVaultError } from '../errors.ts'
import { type CurrentCatalog, storeCurrent } from '../maintenance/store-current.ts'
import type { CallerContext } from '../policy/caller.ts'
import type { NewRow, Storage, StorageReads } from '../ports/storage.ts'
import { CREDENTIALS } from '../schema/system-tables.ts'
import {
  type Entry,
  type EntryKeys,
  type EntryName,
  entriesIn,
  entryPatch,
  type FindEntries,
  listEntries,
  locateEntries,
  newEntryRow,
  type OpenedEntry,
} from './entry-rows.ts'

/** All kinds of stored credentials. */
export const CREDENTIAL_KINDS = ['API_KEY', 'SERVICE_ACCOUNT'] as const

/** The kind of a stored credential. */
export type CredentialKind = (typeof CREDENTIAL_KINDS)[number]

/** A credential without what verifies it, as it is listed. All times are in milliseconds since 1970. */
export interface ListedCredential {
  /**
   * Id of the key. It is not secret: a UUID and, of a service account, a dot and the vault id as base64url, so that a host of many vaults
   * finds the vault of a token request.
   */
  readonly keyId: string
  readonly kind: CredentialKind
  /** What its creator called it. */
  readonly name: string
  /** The actor in events of its requests: the client id of a service account, the key id of an API key. */
  readonly actor: string
  readonly actorType: 'SERVICE_ACCOUNT'
  readonly roles: readonly string[]
  /** Attributes that a policy can use as `ctx.name`. */
  readonly context?: CallerContext
  readonly createdAt: number
  /** Absent: it does not expire. */
  readonly expiresAt?: number
  /** Absent: it is not revoked. */
  readonly revokedAt?: number
}

/** A stored credential. */
export interface StoredCredential extends ListedCredential {
  /** Of an API key, the SHA-256 of its secret in 64 hex digits. Of a service account, its public key as the JSON text of a JWK. */
  readonly verifier: string
}

/** Returns a credential without what verifies it. */
export function withoutVerifier({ verifier: _, ...listed }: StoredCredential): ListedCredential {
  return listed
}

/** True for a credential that is neither revoked nor expired at a time in milliseconds since 1970. */
export function isValidAt({ revokedAt, expiresAt }: ListedCredential, now: number): boolean {
  return revokedAt === undefined && (expiresAt === undefined || now < expiresAt)
}

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

/** Returns the credential of a key id; undefined if it does not exist. */
export async function findCredential(find: FindEntries, keyId: string): Promise<FoundCredential | undefined> {
  const [opened] = await find([{ kind: 'credential', name: keyId }])
  return opened === undefined ? undefined : { opened, credential: credentialOf(opened) }
}

/** Returns the names of credentials by key id, without those that do not exist or fail authentication. One read for all. */
export async function credentialNames(
  storage: StorageReads,
  keys: EntryKeys,
  keyIds: readonly string[],
): Promise<Readonly<Record<string, string>>> {
  const names = keyIds.map((name) => ({ kind: 'credential', name }) as const)
  const open = await locateEntries(storage, keys, { names })
  const found = names.flatMap((name): [string, string][] => {
    try {
      const opened = open(keys, name)
      return opened === undefined ? [] : [[name.name, credentialOf(opened).name]]
    } catch (error) {
      // A row that was changed in the database keeps no one from the trail.
      if (isVaultError(error, 'data_loss')) return []
      throw error
    }
  })
  return Object.fromEntries(found)
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

/** Returns whether the JWT of this id is revoked. */
export async function isRevokedJwt(find: FindEntries, jti: string): Promise<boolean> {
  const [found] = await find([revocationName(jti)])
  return found !== undefined
}

/** Returns a credential, and whether a JWT is revoked, in one read: what a bearer of a service account depends on. */
export async function findForBearer(
  find: FindEntries,
  { keyId, jti }: { readonly keyId: string; readonly jti: string },
): Promise<{ readonly credential: StoredCredential | undefined; readonly isRevoked: boolean }> {
  const [opened, revocation] = await find([{ kind: 'credential', name: keyId }, revocationName(jti)])
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
  const [found] = await entriesIn(storage, keys, true)([name])
  if (found === undefined) return storage.insert(CREDENTIALS.name, [await newEntryRow(storage, keys, entry)])
  if ((found.entry.expiresAt ?? 0) < expiresAt) await storage.update(CREDENTIALS.name, [entryPatch(keys, found, entry)])
}

/** Stores that something has served. Throws `conflict` if it had before, in whatever process. */
export async function storeSpent(storage: Storage, keys: EntryKeys, { text, expiresAt }: Nonce): Promise<void> {
  const row = await newEntryRow(storage, keys, { kind: 'nonce', name: text, expiresAt, content: null })
  await storage.insert(CREDENTIALS.name, [row])
}

/** The same outside a transaction: returns whether it is the first time. */
export async function spendOnce(
  ports: { readonly storage: Storage; readonly catalog: CurrentCatalog },
  keys: EntryKeys,
  nonce: Nonce,
): Promise<boolean> {
  try {
    await storeCurrent(ports, (inner) => storeSpent(inner, keys, nonce))
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
