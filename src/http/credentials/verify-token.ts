/** Verifies JWTs: tokens of a known issuer, and what a client signed with the private key of a service account, as assertions and data tokens. */

import { createPublicKey, type KeyObject, randomBytes } from 'node:crypto'
import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose'
import * as z from 'zod'
import { type Clock, type FoundCredential, isVaultError } from '../../index.ts'
import type { Refused } from './authenticate.ts'
import { isEventText } from './claims.ts'
import type { KeyHint, KeySource } from './issuer-keys.ts'
import { isJwtAlgorithm, type JwtAlgorithm } from './jwt-algorithms.ts'
import { isCanonical, type UnverifiedToken } from './read-token.ts'

/** The claims of a verified token. Times are in seconds since 1970. */
export interface JwtClaims {
  readonly iss: string
  readonly aud: string | readonly string[]
  readonly exp: number
  readonly jti: string
  readonly sub?: string
  readonly [claim: string]: unknown
}

/** What a token must have. */
export interface TokenRules {
  readonly issuer: string
  readonly audience: readonly string[]
  readonly algorithms: readonly JwtAlgorithm[]
  readonly keys: KeySource
}

/** A token whose signature and registered claims are verified. */
export interface VerifiedToken {
  readonly claims: JwtClaims
  readonly kid?: string
}

/** Seconds by which the clock of an issuer or a client may differ. */
export const TOLERANCE_SECONDS = 30

/** Parameters that let a token choose its key, or that a verifier must understand. What a client signed has none of the others either. */
const REFUSED_PARAMETERS = ['crit', 'jku', 'jwk', 'x5u', 'x5c']
const REFUSED_OF_CLIENTS = [...REFUSED_PARAMETERS, 'b64', 'zip']

/** Types of access tokens. Tokens for other uses, as `logout+jwt`, have the issuer and audience of one. */
const TYPES: ReadonlySet<unknown> = new Set([undefined, 'jwt', 'at+jwt'])

const shape = z.looseObject({
  iss: z.string(),
  aud: z.union([z.string(), z.array(z.string())]),
  exp: z.number(),
  jti: z.custom<string>(isEventText),
  sub: z.custom<string>(isEventText).optional(),
})

/** Verifies a token at a time. Throws `unavailable` if the keys of the issuer cannot be fetched. */
export async function verifyToken(token: UnverifiedToken, rules: TokenRules, now: Date): Promise<VerifiedToken | Refused> {
  const hint = readHint(token, rules.algorithms)
  if ('refused' in hint) return hint
  const keys = await rules.keys.find(hint)
  for (const key of keys) {
    try {
      const { payload } = await jwtVerify(token.text, key, {
        algorithms: [...rules.algorithms],
        issuer: rules.issuer,
        audience: [...rules.audience],
        requiredClaims: ['exp', 'jti'],
        clockTolerance: TOLERANCE_SECONDS,
        currentDate: now,
      })
      return readClaims(payload, hint, now)
    } catch (error) {
      if (isVaultError(error)) throw error
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) return { refused: reasonOf(error) }
    }
  }
  return { refused: keys.length === 0 ? 'no key of the issuer has this key id and algorithm' : 'signature of another key' }
}

/** Checks the header, which is chosen by whom sends the token, and returns what chooses the key. */
function readHint({ text, header }: UnverifiedToken, algorithms: readonly JwtAlgorithm[]): KeyHint | Refused {
  if (header === undefined) return { refused: 'header that cannot be read' }
  if (!isCanonical(text)) return { refused: 'not written in its one form' }
  const parameter = REFUSED_PARAMETERS.find((name) => Object.hasOwn(header, name))
  if (parameter !== undefined) return { refused: `header parameter ${parameter}` }
  const { alg, kid, typ } = header
  if (!isJwtAlgorithm(alg) || !algorithms.includes(alg)) return { refused: 'algorithm that its issuer does not use' }
  if (!TYPES.has(typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : typ))
    return { refused: 'type of another use' }
  if (kid === undefined) return { alg }
  return isEventText(kid) ? { alg, kid } : { refused: 'invalid key id' }
}

/** Checks what jose does not: the forms of claims, and a time of issue in the future. */
function readClaims(payload: object, { kid }: KeyHint, now: Date): VerifiedToken | Refused {
  const parsed = shape.safeParse(payload)
  if (!parsed.success) return { refused: 'claim of an invalid form' }
  const { sub, ...claims } = parsed.data
  if (isFromFuture(claims.iat, now)) return { refused: 'issued in the future' }
  return { claims: { ...claims, ...(sub === undefined ? {} : { sub }) }, ...(kid === undefined ? {} : { kid }) }
}

/** Returns why jose refused a token. A claim is named, and never shown. */
function reasonOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'expired'
  if (error instanceof errors.JWTClaimValidationFailed) return `claim ${error.claim} is ${error.reason}`
  return 'not a signed token'
}

/** What is verified at a time. */
interface Moment {
  readonly now: Date
  /** Seconds for which it is valid after its expiry. */
  readonly lateSeconds: number
}

/** A public key without a private one, for the work of verifying what names an unknown service account. */
const DECOY = decoyKey()

/**
 * Returns the claims of a JWT that is signed by this service account with RS256, and valid at a time; undefined for any other, and for an
 * account that is not valid. The header chooses nothing. Never throws.
 */
export async function verifyClientJwt(
  text: string,
  account: FoundCredential | undefined,
  { now, lateSeconds }: Moment,
): Promise<JWTPayload | undefined> {
  try {
    const header = decodeProtectedHeader(text)
    if (!isCanonical(text) || REFUSED_OF_CLIENTS.some((name) => Object.hasOwn(header, name))) return undefined
    const isAccount = account?.kind === 'SERVICE_ACCOUNT'
    const { payload } = await jwtVerify(text, isAccount ? keyOf(account) : DECOY, {
      algorithms: ['RS256'],
      requiredClaims: ['exp'],
      clockTolerance: TOLERANCE_SECONDS,
      currentDate: now,
    })
    const isCurrent = !isFromFuture(payload.iat, now) && (payload.exp ?? 0) + lateSeconds > now.getTime() / 1000
    return isAccount && account.isValid && isCurrent ? payload : undefined
  } catch {
    return undefined
  }
}

/** True for a time of issue after now, or one that is not a time. */
function isFromFuture(iat: unknown, now: Date): boolean {
  return iat !== undefined && !(typeof iat === 'number' && iat <= now.getTime() / 1000 + TOLERANCE_SECONDS)
}

function keyOf({ verifier }: FoundCredential): KeyObject {
  return createPublicKey({ format: 'jwk', key: JSON.parse(verifier) })
}

function decoyKey(): KeyObject {
  const modulus = randomBytes(256)
  modulus[0] = 0x80 | (modulus[0] ?? 0)
  modulus[255] = 1 | (modulus[255] ?? 0)
  return createPublicKey({ format: 'jwk', key: { kty: 'RSA', n: modulus.toString('base64url'), e: 'AQAB' } })
}

const NANOSECONDS_PER_MILLISECOND = 1_000_000n

/** Returns the time of a clock. Default: the clock of the system. */
export function nowOf(clock: Clock | undefined): Date {
  return new Date(clock === undefined ? Date.now() : Number(clock.now() / NANOSECONDS_PER_MILLISECOND))
}
