/** The text of API keys: `sr_<key id>_<secret><checksum>`. The checksum finds typing errors, and lets scanners of leaked secrets recognize a key. */
import { createHash, timingSafeEqual } from 'node:crypto'

/** Length of a secret in bytes: 256 bits. */
export const SECRET_BYTES = 32

/** Length of the checksum, in characters of base64url. */
const CHECKSUM_LENGTH = 6

const FORM = /^(sr_([0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})_([\w-]{43}))([\w-]{6})$/

/** The parts of an API key. */
export interface ApiKeyParts {
  readonly keyID: string
  /** The secret as base64url. */
  readonly secret: string
}

/** True for text that begins as an API key does. */
export function isLikeApiKey(text: string): boolean {
  return text.startsWith('sr_')
}

/** Returns the text of an API key. */
export function printApiKey({ keyID, secret }: ApiKeyParts): string {
  const unchecked = `sr_${keyID}_${secret}`
  return unchecked + checksumOf(unchecked)
}

/** Returns the parts of an API key; undefined for text of another form, or with a wrong checksum. */
export function parseApiKey(text: string): ApiKeyParts | undefined {
  const [, unchecked, keyID, secret, checksum] = FORM.exec(text) ?? []
  if (unchecked === undefined || keyID === undefined || secret === undefined) return undefined
  return checksum === checksumOf(unchecked) ? { keyID, secret } : undefined
}

/** Returns the SHA-256 of a secret in hex digits, as the vault stores it. */
export function digestSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}

/** True if a secret has this digest, after the same work wherever the digests differ. */
export function hasDigest(secret: string, digest: string): boolean {
  const [given, stored] = [Buffer.from(digestSecret(secret)), Buffer.from(digest)]
  return given.length === stored.length && timingSafeEqual(given, stored)
}

function checksumOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, CHECKSUM_LENGTH)
}
