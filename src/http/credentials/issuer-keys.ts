/** The keys of an issuer: those that the host has in its configuration, and those that are fetched from a JWKS address and kept for a time. */
import { createPublicKey, createSecretKey, type JsonWebKey, KeyObject } from 'node:crypto'
import { type CryptoKey, createRemoteJWKSet, customFetch, errors } from 'jose'
import { VaultError } from '../../index.ts'
import { fitsAlgorithm, isSymmetric, type JwtAlgorithm } from './jwt-algorithms.ts'

/** The members of a token's header that choose a key. */
export interface KeyHint {
  readonly alg: JwtAlgorithm
  readonly kid?: string
}

/** The keys of an issuer. */
export interface KeySource {
  /** Returns the keys that can have signed a token, in the order in which they are tried. Throws `unavailable` if they cannot be fetched. */
  find(hint: KeyHint): Promise<readonly (KeyObject | CryptoKey)[]>
}

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

/** How long fetched keys are used without fetching them again: the time after which a key that the issuer withdrew is refused. */
const MAX_AGE_MS = 600_000
/** Shortest time between a fetch and one for a key id that it did not have: invented ids cause no more fetches than that. */
const COOLDOWN_MS = 5_000
/** Shortest time between a failed fetch and the next one. */
const RETRY_MS = 1_000
const TIMEOUT_MS = 5_000
const MAX_BYTES = 1_000_000
/** Keys that are tried for a token without a key id. */
const MAX_KEYS_TRIED = 8

/** The keys of a JWKS address. A key id that is new is fetched. Throws `unavailable` if the server does not answer with a key set. */
export function createRemoteKeys(url: URL, { timeoutMs = TIMEOUT_MS }: { readonly timeoutMs?: number } = {}): KeySource {
  let failedAt = Number.NEGATIVE_INFINITY
  const keys = createRemoteJWKSet(url, {
    cacheMaxAge: MAX_AGE_MS,
    cooldownDuration: COOLDOWN_MS,
    timeoutDuration: timeoutMs,
    [customFetch]: async (address, init) => {
      const elapsed = Date.now() - failedAt
      // Less than zero after the clock was set back.
      if (elapsed >= 0 && elapsed < RETRY_MS) throw new Error('The last fetch failed a moment ago.')
      return readBounded(await fetch(address, init))
    },
  })
  return {
    async find(hint) {
      try {
        return [await keys({ ...hint })]
      } catch (error) {
        if (error instanceof errors.JWKSNoMatchingKey) return []
        if (error instanceof errors.JWKSMultipleMatchingKeys) return firstOf(error)
        const elapsed = Date.now() - failedAt
        if (!(elapsed >= 0 && elapsed < RETRY_MS)) failedAt = Date.now()
        throw new VaultError('unavailable', 'The keys of the issuer cannot be fetched. Retry.')
      }
    },
  }
}

/** Returns the response with its whole body. Throws if it is too long, before more of it is read. */
async function readBounded(response: Response): Promise<Response> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > MAX_BYTES) throw new Error('The key set is too long.')
    chunks.push(chunk)
  }
  return new Response(Buffer.concat(chunks), { status: response.status })
}

async function firstOf(keys: AsyncIterable<CryptoKey>): Promise<readonly CryptoKey[]> {
  const first: CryptoKey[] = []
  for await (const key of keys) {
    first.push(key)
    if (first.length === MAX_KEYS_TRIED) break
  }
  return first
}
