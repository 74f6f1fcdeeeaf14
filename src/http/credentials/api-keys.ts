/** API keys: made by an owner of the vault, shown once, and checked as credentials of requests. */
import { randomBytes } from 'node:crypto'
import { assertOptions, readOptions } from '../../core/util/options.ts'
import { type CreateCredentialInput, type SchemaDefinition, type Session, VaultError } from '../../index.ts'
import {
  digestSecret,
  hasDigest,
  isLikeApiKey,
  isPrefix,
  keyIdOf,
  parseApiKey,
  printApiKey,
  printPrefixed,
  SECRET_BYTES,
  SHORT_SECRET_BYTES,
} from './api-key-text.ts'
import type { Authenticate } from './authenticate.ts'

/** A session that can hand out credentials: of a caller with VAULT_OWNER. */
export type CreatingSession = Pick<Session<SchemaDefinition>, 'createCredential'>

/** The form of an API key for clients that check it themselves: `<prefix>-<5 letters or digits>-<32 hex digits>`, with a secret of 128 bits. */
export interface ApiKeyFormat {
  /** 1 to 32 letters from a to z. */
  readonly prefix: string
}

/** What an API key is called, what it can do, and its form. */
export interface ApiKeyOptions extends Pick<CreateCredentialInput, 'name' | 'roles' | 'context' | 'expiresAt'> {
  /** Default: `sr_<key id>_<secret><checksum>`, with a secret of 256 bits. */
  readonly format?: ApiKeyFormat
}

/** A new API key. */
export interface ApiKey {
  readonly keyId: string
  /** The text to send after "Bearer ". It is not stored, and cannot be shown again. */
  readonly apiKey: string
}

/** The digest that the secret of an unknown key is compared with. No secret has it. */
const DECOY = '0'.repeat(64)

/** Makes an API key with a secret of 256 random bits, or 128 in the form of clients. Throws what `session.createCredential` throws. */
export async function createApiKey(session: CreatingSession, options: ApiKeyOptions): Promise<ApiKey> {
  const known = ['name', 'roles', 'context', 'expiresAt', 'format'] as const
  const { format, ...others } = readOptions(options, known, { of: 'createApiKey' })
  if (format !== undefined) return createPrefixed(session, format, others)
  const secret = randomBytes(SECRET_BYTES).toString('base64url')
  const { keyId } = await session.createCredential({ ...others, kind: 'API_KEY', verifier: digestSecret(secret) })
  return { keyId, apiKey: printApiKey({ keyId, secret }) }
}

async function createPrefixed(
  session: CreatingSession,
  format: ApiKeyFormat,
  options: Omit<ApiKeyOptions, 'format'>,
): Promise<ApiKey> {
  const { prefix } = readOptions(format, ['prefix'], { of: 'createApiKey', member: 'format' })
  if (!isPrefix(prefix)) throw new VaultError('invalid_request', 'Option "format.prefix" must be 1 to 32 letters from a to z.')
  const secret = randomBytes(SHORT_SECRET_BYTES).toString('hex')
  const verifier = digestSecret(secret)
  const { keyId } = await session.createCredential({ ...options, kind: 'API_KEY', verifier, keyId: keyIdOf(secret) })
  return { keyId, apiKey: printPrefixed(prefix, secret) }
}

/** Returns the authenticator of API keys. Text that does not begin as one is of another kind. */
export function apiKeys(options: Readonly<Record<string, never>> = {}): Authenticate {
  assertOptions(options, [], { of: 'apiKeys' })
  return async ({ credential, vault }) => {
    if (!isLikeApiKey(credential)) return undefined
    const parts = parseApiKey(credential)
    if (parts === undefined) return { refused: 'malformed API key' }
    const found = await vault?.credentials.find(parts.keyId)
    const isApiKey = found?.kind === 'API_KEY'
    const hasSecret = hasDigest(parts.secret, isApiKey ? found.verifier : DECOY)
    if (!isApiKey || !hasSecret) return { refused: 'unknown API key' }
    if (!found.isValid) return { refused: 'API key that is revoked or expired' }
    const { actor, actorType, roles, context, keyId } = found
    return {
      caller: { actor, actorType, roles, ...(context === undefined ? {} : { context }) },
      credential: { authMode: 'API_KEY', keyID: keyId },
    }
  }
}
