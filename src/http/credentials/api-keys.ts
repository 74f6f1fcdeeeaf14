/** API keys: made by an owner of the vault, shown once, and checked as credentials of requests; and their text. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { assertOptions, readOptions } from '../../core/util/options.ts'
import { type CreateCredentialInput, type SchemaDefinition, type Session, VaultError } from '../../index.ts'
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

/*
 * The text of a key has two forms: `sr_<key id>_<secret><checksum>`, and `<prefix>-<checksum>-<secret>` as existing clients check it. The
 * checksum finds typing errors, and lets scanners of leaked secrets recognize a key.
 */

/** Length of a secret in bytes: 256 bits. */
export const SECRET_BYTES = 32
/** Length of the secret of a key with a prefix, in bytes: 128 bits. */
const SHORT_SECRET_BYTES = 16

/** Length of the checksum, in characters of base64url. */
const CHECKSUM_LENGTH = 6
/** Length of the checksum of a key with a prefix, in letters and digits. */
const SHORT_CHECKSUM_LENGTH = 5
const LETTERS_AND_DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

const FORM = /^(sr_([0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})_([\w-]{43}))([\w-]{6})$/
const PREFIXED_FORM = /^([a-z]{1,32})-([0-9A-Za-z]{5})-([0-9a-f]{32})$/

/** The parts of an API key. */
export interface ApiKeyParts {
  readonly keyId: string
  /** The secret as base64url, or as hex digits in a key with a prefix. */
  readonly secret: string
}

/** True for text that begins as an API key does, or is one with a prefix. */
function isLikeApiKey(text: string): boolean {
  return text.startsWith('sr_') || parsePrefixed(text) !== undefined
}

/** True for a prefix that a key can have. */
export function isPrefix(text: unknown): text is string {
  return typeof text === 'string' && /^[a-z]{1,32}$/.test(text)
}

/** Returns the text of an API key. */
export function printApiKey({ keyId, secret }: ApiKeyParts): string {
  const unchecked = `sr_${keyId}_${secret}`
  return unchecked + checksumOf(unchecked)
}

/** Returns the text of an API key with a prefix, whose secret is 32 hex digits. */
export function printPrefixed(prefix: string, secret: string): string {
  return `${prefix}-${shortChecksumOf(prefix, secret)}-${secret}`
}

/**
 * Returns the key id of a key with a prefix: such a text has no room for one. It is a UUID (version 8) of a digest of the secret, from which a
 * secret of 128 random bits cannot be found.
 */
export function keyIdOf(secret: string): string {
  const hex = createHash('sha256').update(`key id ${secret}`).digest('hex')
  const variant = '89ab'[Number.parseInt(hex.charAt(16), 16) % 4] ?? ''
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Returns the parts of an API key; undefined for text of another form, or with a wrong checksum. */
export function parseApiKey(text: string): ApiKeyParts | undefined {
  const prefixed = parsePrefixed(text)
  if (prefixed !== undefined) return prefixed
  const [, unchecked, keyId, secret, checksum] = FORM.exec(text) ?? []
  if (unchecked === undefined || keyId === undefined || secret === undefined) return undefined
  return checksum === checksumOf(unchecked) ? { keyId, secret } : undefined
}

/** Returns the SHA-256 of a secret in hex digits, as the vault stores it. */
function digestSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}

/** True if a secret has this digest, after the same work wherever the digests differ. */
export function hasDigest(secret: string, digest: string): boolean {
  const [given, stored] = [Buffer.from(digestSecret(secret)), Buffer.from(digest)]
  return given.length === stored.length && timingSafeEqual(given, stored)
}

function parsePrefixed(text: string): ApiKeyParts | undefined {
  const [, prefix = '', checksum, secret = ''] = PREFIXED_FORM.exec(text) ?? []
  return checksum === shortChecksumOf(prefix, secret) ? { keyId: keyIdOf(secret), secret } : undefined
}

function shortChecksumOf(prefix: string, secret: string): string {
  let rest = createHash('sha256').update(`${prefix}-${secret}`).digest().readUIntBE(0, 6)
  let checksum = ''
  for (; checksum.length < SHORT_CHECKSUM_LENGTH; rest = Math.floor(rest / LETTERS_AND_DIGITS.length))
    checksum += LETTERS_AND_DIGITS[rest % LETTERS_AND_DIGITS.length]
  return checksum
}

function checksumOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, CHECKSUM_LENGTH)
}
