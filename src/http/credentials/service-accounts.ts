/** Service accounts: made with a key pair, of which the client keeps the key file, and authenticated by bearers as `exchangeAssertion` gives them. */

import { generateKeyPair, type KeyPairKeyObjectResult } from 'node:crypto'
import { assertOptions, readOptions } from '../../core/util/options.ts'
import type { CreateCredentialInput } from '../../index.ts'
import type { CreatingSession } from './api-keys.ts'
import type { Authenticate } from './authenticate.ts'
import { readClaimContext } from './claims.ts'
import { unverifiedClaims } from './read-token.ts'

/**
 * Returns the authenticator of bearers of service accounts. Text that does not say of itself that a vault issued it for a service account is of
 * another kind.
 */
export function serviceAccounts(options: Readonly<Record<string, never>> = {}): Authenticate {
  assertOptions(options, [], { of: 'serviceAccounts' })
  return async ({ credential, vault }) => {
    const bearer = await vault?.credentials.verifyBearer(credential)
    if (bearer === undefined) return isLikeBearer(credential) ? { refused: 'bearer that is not valid' } : undefined
    const { actor, actorType, roles, context, keyId: keyID, jwtID } = bearer
    const { bearerTokenContextID } = readClaimContext(context) ?? {}
    return {
      caller: { actor, actorType, roles, ...(context === undefined ? {} : { context }) },
      credential: {
        authMode: 'SERVICE_ACCOUNT_JWT',
        jwtID,
        keyID,
        subject: actor,
        ...(bearerTokenContextID === undefined ? {} : { bearerTokenContextID }),
      },
    }
  }
}

/** True for a JWT with the claims of a bearer. Nothing in it is verified. */
function isLikeBearer(text: string): boolean {
  const { iss, aud, key, roles } = unverifiedClaims(text) ?? {}
  return iss !== undefined && iss === aud && typeof key === 'string' && Array.isArray(roles)
}

/** What a service account is called and what it can do. */
export interface ServiceAccountOptions extends Pick<CreateCredentialInput, 'name' | 'roles' | 'context' | 'expiresAt'> {
  /** Where its assertions are exchanged: the URL of `POST /v1/auth/sa/oauth/token` as clients reach it. */
  readonly tokenURI: string
}

/** The key file of a service account, as existing clients read it. It is not stored, and cannot be shown again. */
export interface ServiceAccountKey {
  readonly clientID: string
  readonly clientName: string
  /** It names the vault, too, and is what `session.revokeCredential` takes. */
  readonly keyID: string
  readonly tokenURI: string
  /** RFC 3339. */
  readonly keyValidAfterTime: string
  /** RFC 3339. Absent: the key does not expire. */
  readonly keyValidBeforeTime?: string
  readonly keyAlgorithm: 'KEY_ALG_RSA_2048'
  /** PKCS #8 in PEM. */
  readonly privateKey: string
}

/** Length of the modulus of a key in bits. */
const KEY_BITS = 2048

/** Makes a service account with an RSA key of 2,048 bits. Throws what `session.createCredential` throws. */
export async function createServiceAccount(session: CreatingSession, given: ServiceAccountOptions): Promise<ServiceAccountKey> {
  const known = ['tokenURI', 'name', 'roles', 'context', 'expiresAt'] as const
  const { tokenURI, ...options } = readOptions(given, known, { of: 'createServiceAccount' })
  const { publicKey, privateKey } = await generateKeys()
  const { kty, n, e } = publicKey.export({ format: 'jwk' })
  const verifier = JSON.stringify({ kty, n, e })
  const created = await session.createCredential({ ...options, kind: 'SERVICE_ACCOUNT', verifier })
  return {
    clientID: created.actor,
    clientName: options.name,
    keyID: created.keyId,
    tokenURI,
    keyValidAfterTime: new Date(created.createdAt).toISOString(),
    ...(options.expiresAt === undefined ? {} : { keyValidBeforeTime: new Date(options.expiresAt).toISOString() }),
    keyAlgorithm: 'KEY_ALG_RSA_2048',
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

/** Generates a key pair outside the event loop. */
function generateKeys(): Promise<KeyPairKeyObjectResult> {
  return new Promise((resolve, reject) => {
    generateKeyPair('rsa', { modulusLength: KEY_BITS }, (error, publicKey, privateKey) => {
      if (error === null) resolve({ publicKey, privateKey })
      else reject(error)
    })
  })
}

/** Key ids name the vault that stores them, so that it is found without trying all. */
const FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.([\w-]{2,700})$/

/** A key id, and the vault that it names. */
export interface ServiceAccountKeyID {
  readonly keyID: string
  readonly vaultID: string
}

/** Returns a key id and its vault; undefined for anything else. */
export function parseKeyID(keyID: unknown): ServiceAccountKeyID | undefined {
  if (typeof keyID !== 'string') return undefined
  const encoded = FORM.exec(keyID)?.[1]
  return encoded === undefined ? undefined : { keyID, vaultID: Buffer.from(encoded, 'base64url').toString() }
}
