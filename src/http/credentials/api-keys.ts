/** API keys: made by an owner of the vault, shown once, and checked as credentials of requests. */
import { randomBytes } from 'node:crypto'
import { assertOptions, readOptions } from '../../core/util/read-options.ts'
import type { CreateCredentialInput, SchemaDefinition, Session } from '../../index.ts'
import { digestSecret, hasDigest, isLikeApiKey, parseApiKey, printApiKey, SECRET_BYTES } from './api-key-text.ts'
import type { Authenticate } from './authenticate.ts'

/** A session that can hand out credentials: of a caller with VAULT_OWNER. */
export type CreatingSession = Pick<Session<SchemaDefinition>, 'createCredential'>

/** What an API key is called and what it can do. */
export type ApiKeyOptions = Pick<CreateCredentialInput, 'name' | 'roles' | 'context' | 'expiresAt'>

/** A new API key. */
export interface ApiKey {
  readonly keyID: string
  /** The text to send after "Bearer ". It is not stored, and cannot be shown again. */
  readonly apiKey: string
}

/** The digest that the secret of an unknown key is compared with. No secret has it. */
const DECOY = '0'.repeat(64)

/** Makes an API key with a secret of 256 random bits. Throws what `session.createCredential` throws. */
export async function createApiKey(session: CreatingSession, given: ApiKeyOptions): Promise<ApiKey> {
  const options = readOptions(given, ['name', 'roles', 'context', 'expiresAt'], { of: 'createApiKey' })
  const secret = randomBytes(SECRET_BYTES).toString('base64url')
  const { keyID } = await session.createCredential({ ...options, kind: 'API_KEY', verifier: digestSecret(secret) })
  return { keyID, apiKey: printApiKey({ keyID, secret }) }
}

/** Returns the authenticator of API keys. Text that does not begin as one is of another kind. */
export function apiKeys(options: Readonly<Record<string, never>> = {}): Authenticate {
  assertOptions(options, [], { of: 'apiKeys' })
  return async ({ credential, vault }) => {
    if (!isLikeApiKey(credential)) return undefined
    const parts = parseApiKey(credential)
    if (parts === undefined) return { refused: 'malformed API key' }
    const found = await vault?.credentials.find(parts.keyID)
    const isApiKey = found?.kind === 'API_KEY'
    const hasSecret = hasDigest(parts.secret, isApiKey ? found.verifier : DECOY)
    if (!isApiKey || !hasSecret) return { refused: 'unknown API key' }
    if (!found.isValid) return { refused: 'API key that is revoked or expired' }
    const { actor, actorType, roles, context, keyID } = found
    return {
      caller: { actor, actorType, roles, ...(context === undefined ? {} : { context }) },
      credential: { authMode: 'API_KEY', keyID },
    }
  }
}
