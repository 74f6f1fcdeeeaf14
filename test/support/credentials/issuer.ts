/** An issuer of tokens for tests: real keys, and tokens signed with them. */
import { createSecretKey, generateKeyPairSync, type JsonWebKey, type KeyObject, sign } from 'node:crypto'
import { SignJWT } from 'jose'

export const ISSUER = 'https://login.acme.example'
export const AUDIENCE = 'https://vault.acme.example'
/** The time of every test, in seconds since 1970. */
export const NOW = 1_800_000_000
export const CLOCK = { now: () => BigInt(NOW) * 1_000_000_000n }

/** Key pairs of RS256, ES256 and EdDSA, each made once. */
export const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 })
export const OTHER_RSA = generateKeyPairSync('rsa', { modulusLength: 2048 })
export const EC = generateKeyPairSync('ec', { namedCurve: 'P-256' })
export const ED = generateKeyPairSync('ed25519')
export const TEST_SECRET = createSecretKey(Buffer.alloc(32, 'test secret'))

/** A valid set of claims, with changes. A claim that is undefined is left out. */
export function claims(changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const all = {
    iss: ISSUER,
    aud: AUDIENCE,
    exp: NOW + 600,
    iat: NOW - 1,
    jti: 'token-1',
    sub: 'user-1',
    email: 'ann@acme.example',
    roles: ['clerk'],
    vaults: ['v1'],
    ...changes,
  }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}

/** Returns a token that jose signs. */
export function signed(
  payload: Record<string, unknown>,
  alg = 'RS256',
  key: KeyObject = RSA.privateKey,
  header: object = {},
): Promise<string> {
  return new SignJWT(payload).setProtectedHeader({ ...header, alg }).sign(key)
}

/** Returns a token with any header and any payload, signed as RS256 signs. jose refuses to make some of them. */
export function signedByHand(header: unknown, payload: unknown, key: KeyObject = RSA.privateKey): string {
  const input = `${part(header)}.${part(payload)}`
  return `${input}.${sign('sha256', Buffer.from(input), key).toString('base64url')}`
}

/** Returns a part of a token. Text is taken as JSON text. */
export function part(content: unknown): string {
  return Buffer.from(typeof content === 'string' ? content : JSON.stringify(content)).toString('base64url')
}

/** Returns the JWK of a public key. */
export function jwkOf(key: KeyObject, members: object = {}): JsonWebKey {
  return { ...key.export({ format: 'jwk' }), ...members }
}
