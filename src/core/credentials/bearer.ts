/** Bearers of service accounts: compact JWS with HS256, signed and verified with a key that never leaves core. Source: RFC 7515. */
import { digestItems } from '../barrier/digest-values.ts'
import { VaultError } from '../errors.ts'
import type { CallerContext } from '../policy/caller.ts'
import { HASH_BYTES, type Hash, type KeyRing } from '../ports/crypto.ts'
import { readUtf8, toUtf8 } from '../util/bytes.ts'
import { toSlab } from '../util/memory.ts'
import { fromBase64Url, toBase64Url } from '../util/text.ts'

/** What a bearer says. Times are in seconds since 1970. Clients read `exp`. */
export interface BearerClaims {
  /** The vault id; `aud` too. */
  readonly iss: string
  readonly aud: string
  /** Client id of the service account. */
  readonly sub: string
  /** Key id of the service account. */
  readonly key: string
  readonly iat: number
  readonly exp: number
  readonly jti: string
  readonly roles: readonly string[]
  /** Attributes that the client gave in the claim `ctx` of its assertion. */
  readonly ctx?: CallerContext
}

/** The dependencies of signing. */
export interface BearerKeys {
  readonly ring: KeyRing
  readonly hash: Hash
}

/** The only header of a bearer. A text with another one is not a bearer, so a header chooses nothing. */
const HEADER = toBase64Url(toUtf8('{"alg":"HS256","typ":"JWT"}'))
/** Scope of the digests that the signing key is made of. */
const SCOPE = 'bearer'

/** Returns the bearer with these claims. */
export function signBearer(keys: BearerKeys, claims: BearerClaims): string {
  const signed = `${HEADER}.${toBase64Url(toUtf8(JSON.stringify(claims)))}`
  return `${signed}.${toBase64Url(macOf(keys, signed, keys.ring.lookupVersion))}`
}

/** Returns the claims of a text that `signBearer` made with these keys; undefined for any other. It does not check the time. */
export function openBearer(keys: BearerKeys, text: string): BearerClaims | undefined {
  const [header, payload = '', signature = '', ...rest] = text.split('.')
  if (header !== HEADER || rest.length > 0) return undefined
  const mac = fromBase64Url(signature)
  const isOf = (version: number): boolean => mac !== undefined && isSameMac(mac, macOf(keys, `${header}.${payload}`, version))
  if (!keys.ring.lookupVersions.some(isOf)) return undefined
  const bytes = fromBase64Url(payload)
  // It was authenticated, so it is what `signBearer` wrote.
  return bytes === undefined ? undefined : (JSON.parse(readUtf8(bytes, 0, bytes.length)) as BearerClaims)
}

/** Returns the MAC. Its key is two digests of the key ring: 256 bits, by a pseudorandom function of the root key. */
function macOf({ ring, hash }: BearerKeys, text: string, version: number): Uint8Array {
  const key = digestItems(ring, SCOPE, toSlab([toUtf8('key 1'), toUtf8('key 2')]), version)
  try {
    return hmacSha256(hash, key, toUtf8(text))
  } finally {
    key.fill(0)
  }
}

/** Block length of SHA-256 in bytes. */
const BLOCK_BYTES = 64
const INNER_PAD = 0x36
const OUTER_PAD = 0x5c

/** Returns 32 bytes. The key has 64 bytes at most. */
export function hmacSha256(hash: Hash, key: Uint8Array, message: Uint8Array): Uint8Array {
  if (key.length > BLOCK_BYTES)
    throw new VaultError('internal', 'The key of an HMAC is too long. This is a defect; please report it.')
  const padded = (pad: number, rest: Uint8Array): Uint8Array => {
    const block = new Uint8Array(BLOCK_BYTES + rest.length).fill(pad, 0, BLOCK_BYTES)
    for (const [index, byte] of key.entries()) block[index] = byte ^ pad
    block.set(rest, BLOCK_BYTES)
    const digest = hash.sha256(toSlab([block]))
    block.fill(0, 0, BLOCK_BYTES)
    return digest
  }
  return padded(OUTER_PAD, padded(INNER_PAD, message))
}

/** True if two results are equal, after the same work wherever they differ. */
export function isSameMac(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== HASH_BYTES || right.length !== HASH_BYTES) return false
  let difference = 0
  for (const [index, byte] of left.entries()) difference |= byte ^ (right[index] ?? 0)
  return difference === 0
}
