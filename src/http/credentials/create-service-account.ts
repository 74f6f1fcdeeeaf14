/** Makes service accounts: a key pair, of which the vault stores the public key and the client keeps the key file. */
import { generateKeyPair, type KeyPairKeyObjectResult } from 'node:crypto'
import { readOptions } from '../../core/util/options.ts'
import type { CreateCredentialInput } from '../../index.ts'
import type { CreatingSession } from './api-keys.ts'

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
