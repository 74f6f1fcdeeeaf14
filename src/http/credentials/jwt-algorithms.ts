/** The algorithms that an issuer can sign with, and the keys that fit them. */
import type { KeyObject } from 'node:crypto'

/** What a key must be. Lengths are minimums, of RFC 7518: in bits for RSA, in bytes for secrets. */
type KeyKind =
  | { readonly kind: 'secret'; readonly minBytes: number }
  | { readonly kind: 'rsa'; readonly minBits: number }
  | { readonly kind: 'ec'; readonly curve: string }
  | { readonly kind: 'ed25519' }

const RSA = { kind: 'rsa', minBits: 2048 } as const
const ED25519 = { kind: 'ed25519' } as const

const KEY_KINDS = {
  RS256: RSA,
  RS384: RSA,
  RS512: RSA,
  PS256: RSA,
  PS384: RSA,
  PS512: RSA,
  ES256: { kind: 'ec', curve: 'prime256v1' },
  ES384: { kind: 'ec', curve: 'secp384r1' },
  ES512: { kind: 'ec', curve: 'secp521r1' },
  EdDSA: ED25519,
  Ed25519: ED25519,
  HS256: { kind: 'secret', minBytes: 32 },
  HS384: { kind: 'secret', minBytes: 48 },
  HS512: { kind: 'secret', minBytes: 64 },
} as const satisfies Record<string, KeyKind>

/** An algorithm that an issuer can sign with. `none` is not one. */
export type JwtAlgorithm = keyof typeof KEY_KINDS

/** Returns true for the name of an algorithm. */
export function isJwtAlgorithm(name: unknown): name is JwtAlgorithm {
  return typeof name === 'string' && Object.hasOwn(KEY_KINDS, name)
}

/** Returns true if both sides have the same secret. */
export function isSymmetric(algorithm: JwtAlgorithm): boolean {
  return KEY_KINDS[algorithm].kind === 'secret'
}

/** Returns true if a key can verify signatures of an algorithm: its type, its curve, and a sufficient length. */
export function fitsAlgorithm(key: KeyObject, algorithm: JwtAlgorithm): boolean {
  const needed: KeyKind = KEY_KINDS[algorithm]
  const { namedCurve, modulusLength = 0 } = key.asymmetricKeyDetails ?? {}
  switch (needed.kind) {
    case 'secret':
      return key.type === 'secret' && (key.symmetricKeySize ?? 0) >= needed.minBytes
    case 'rsa':
      return key.asymmetricKeyType === 'rsa' && modulusLength >= needed.minBits
    case 'ec':
      return key.asymmetricKeyType === 'ec' && namedCurve === needed.curve
    case 'ed25519':
      return key.asymmetricKeyType === 'ed25519'
  }
}
