/** What clients sign with a key file, and what attackers make of it. */
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { type JWTHeaderParameters, type JWTPayload, SignJWT } from 'jose'
import type { ServiceAccountKey } from '../../../src/http/credentials/service-accounts.ts'
import { TOKEN_URI } from './credential-vaults.ts'

const HEADER = { alg: 'RS256', typ: 'JWT' }

/** A private key that no service account has. */
export const OTHER_PRIVATE_KEY = generateKeyPairSync('rsa', { modulusLength: 2048 })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString()

/** The claims of an assertion as existing clients write them. */
export function assertionClaims({ clientID, keyID }: ServiceAccountKey, seconds: number): JWTPayload {
  return { iss: clientID, key: keyID, aud: TOKEN_URI, exp: seconds + 3600, sub: clientID }
}

/** Signs claims with the private key of a key file. */
export function signClaims(
  { privateKey }: Pick<ServiceAccountKey, 'privateKey'>,
  claims: JWTPayload,
  header: JWTHeaderParameters = HEADER,
): Promise<string> {
  return new SignJWT(claims).setProtectedHeader(header).sign(createPrivateKey(privateKey))
}

/** Texts with the same claims that must not be accepted: of each trick that a header can try, and of each wrong form. */
export async function forgedTexts(key: ServiceAccountKey, claims: JWTPayload, publicKey: string): Promise<string[]> {
  const encode = (json: unknown) => Buffer.from(JSON.stringify(json)).toString('base64url')
  const genuine = await signClaims(key, claims)
  const [header = '', payload = '', signature = ''] = genuine.split('.')
  const confused = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', typ: 'JWT' }).sign(Buffer.from(publicKey))
  const withHeader = (more: object) => signClaims(key, claims, { ...HEADER, ...more })
  const jwk = { kty: 'RSA', n: 'AQAB', e: 'AQAB' }
  return [
    ...[
      '',
      '.',
      '..',
      '...',
      'x',
      genuine.slice(1),
      `${genuine}.`,
      `${genuine}A`,
      `${header}.${payload}.`,
      `${header}.${payload}`,
    ],
    ...[`${encode({ alg: 'none' })}.${payload}.`, `${encode({ alg: 'none' })}.${payload}.${signature}`],
    `${encode({ alg: 'NONE', typ: 'JWT' })}.${payload}.${signature}`,
    `${header}.${encode({ ...claims, sub: 'another' })}.${signature}`,
    `${header}.${payload}=.${signature}`,
    ...[confused, await signClaims({ privateKey: OTHER_PRIVATE_KEY }, claims)],
    ...(await Promise.all(['RS384', 'RS512', 'PS256'].map((alg) => signClaims(key, claims, { alg })))),
    await withHeader({ jku: 'https://attacker.example/jwks' }),
    await withHeader({ x5u: 'https://attacker.example/cert' }),
    await withHeader({ jwk }),
    await withHeader({ x5c: ['AQAB'] }),
    `${encode({ ...HEADER, crit: ['exp'], exp: 1 })}.${payload}.${signature}`,
  ]
}
