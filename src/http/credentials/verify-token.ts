/** Verifies a token of a known issuer: header, signature, and registered claims. */
import { errors, jwtVerify } from 'jose'
import * as z from 'zod'
import { isVaultError } from '../../index.ts'
import type { Refused } from './authenticate.ts'
import { isEventText } from './event-text.ts'
import { isJwtAlgorithm, type JwtAlgorithm } from './jwt-algorithms.ts'
import type { KeyHint, KeySource } from './key-source.ts'
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

const CLOCK_TOLERANCE_SECONDS = 30

/** Parameters that let a token choose its key, or that a verifier must understand. */
const REFUSED_PARAMETERS = ['crit', 'jku', 'jwk', 'x5u', 'x5c']

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
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
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
  const issued = claims.iat
  if (typeof issued === 'number' && issued > now.getTime() / 1000 + CLOCK_TOLERANCE_SECONDS)
    return { refused: 'issued in the future' }
  return { claims: { ...claims, ...(sub === undefined ? {} : { sub }) }, ...(kid === undefined ? {} : { kid }) }
}

/** Returns why jose refused a token. A claim is named, and never shown. */
function reasonOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'expired'
  if (error instanceof errors.JWTClaimValidationFailed) return `claim ${error.claim} is ${error.reason}`
  return 'not a signed token'
}
