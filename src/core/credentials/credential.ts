/** Stored credentials: API keys and service accounts, as authenticators read them. */
import type { CallerContext } from '../policy/caller.ts'

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
