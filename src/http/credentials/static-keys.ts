/** Keys of an issuer that the host has in its configuration. */
import { createPublicKey, createSecretKey, type JsonWebKey, KeyObject } from 'node:crypto'
import { fitsAlgorithm, isSymmetric, type JwtAlgorithm } from './jwt-algorithms.ts'
import type { KeySource } from './key-source.ts'

/** A public key as JWK, as PEM (also of a certificate) or as KeyObject. For HS256, HS384 and HS512 a secret, as JWK or as KeyObject. */
export type StaticKey = JsonWebKey | string | KeyObject

/** A key with what its JWK says of it. */
interface NamedKey {
  readonly key: KeyObject
  readonly kid?: string
  readonly alg?: string
}

/** Returns what is wrong with a key, without its content. */
export interface KeyProblem {
  readonly index: number
  readonly problem: string
}

/** Reads the keys of an issuer, whose algorithms are all symmetric or all not. Returns the first problem for a key that cannot verify its tokens. */
export function readStaticKeys(given: readonly unknown[], algorithms: readonly JwtAlgorithm[]): KeySource | KeyProblem {
  const keys: NamedKey[] = []
  for (const [index, one] of given.entries()) {
    const read = readKey(one, algorithms.some(isSymmetric))
    if (typeof read === 'string') return { index, problem: read }
    if (!algorithms.some((alg) => verifies(read, alg)))
      return { index, problem: 'fits none of the algorithms, or is too short for them' }
    keys.push(read)
  }
  return {
    async find({ alg, kid }) {
      const named = (key: NamedKey) => key.kid === undefined || kid === undefined || key.kid === kid
      return keys.filter((key) => named(key) && verifies(key, alg)).map(({ key }) => key)
    },
  }
}

function verifies({ key, alg }: NamedKey, algorithm: JwtAlgorithm): boolean {
  return (alg === undefined || alg === algorithm) && fitsAlgorithm(key, algorithm)
}

/** Returns the key, or what is wrong with it. */
function readKey(given: unknown, symmetric: boolean): NamedKey | string {
  try {
    if (given instanceof KeyObject) return typed({ key: given }, symmetric)
    if (typeof given === 'string') {
      // A public key follows from a private one, which has no place in the configuration of a verifier.
      if (given.includes('PRIVATE KEY')) return 'is a private key; specify the public one'
      return typed({ key: createPublicKey(given) }, symmetric)
    }
    return isObject(given) ? readJwk(given, symmetric) : 'is no JWK, PEM text or KeyObject'
  } catch {
    return 'cannot be read as a key'
  }
}

function readJwk(jwk: JsonWebKey, symmetric: boolean): NamedKey | string {
  const { kty, kid, alg, use, key_ops: operations } = jwk
  if (jwk.d !== undefined) return 'is a private key; specify the public one'
  if (use !== undefined && use !== 'sig') return 'is not for signatures'
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) return 'is not for verifying'
  const key = kty === 'oct' ? createSecretKey(jwk.k ?? '', 'base64url') : createPublicKey({ key: jwk, format: 'jwk' })
  return typed({ key, ...(typeof kid === 'string' ? { kid } : {}), ...(typeof alg === 'string' ? { alg } : {}) }, symmetric)
}

function typed(read: NamedKey, symmetric: boolean): NamedKey | string {
  if (read.key.type === 'private') return 'is a private key; specify the public one'
  if ((read.key.type === 'secret') !== symmetric) return symmetric ? 'is no secret' : 'is a secret; specify a public key'
  return read
}

function isObject(given: unknown): given is JsonWebKey {
  return typeof given === 'object' && given !== null
}
