/** Verifies what a client signed with the private key of a service account: assertions and data tokens. */
import { createPublicKey, type KeyObject, randomBytes } from 'node:crypto'
import { decodeProtectedHeader, type JWTPayload, jwtVerify } from 'jose'
import type { FoundCredential } from '../../index.ts'
import { isCanonical } from './read-token.ts'

/** Seconds by which the clock of a client may differ. */
export const TOLERANCE_SECONDS = 30

/** What is verified at a time. */
interface Moment {
  readonly now: Date
  /** Seconds for which it is valid after its expiry. */
  readonly lateSeconds: number
}

/** Parameters that let a text choose its own key, or that a verifier must understand. */
const REFUSED_PARAMETERS = ['crit', 'jku', 'jwk', 'x5u', 'x5c', 'b64', 'zip']

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
    if (!isCanonical(text) || REFUSED_PARAMETERS.some((name) => Object.hasOwn(header, name))) return undefined
    const isAccount = account?.kind === 'SERVICE_ACCOUNT'
    const { payload } = await jwtVerify(text, isAccount ? keyOf(account) : DECOY, {
      algorithms: ['RS256'],
      requiredClaims: ['exp'],
      clockTolerance: TOLERANCE_SECONDS,
      currentDate: now,
    })
    const isCurrent = !isFromFuture(payload, now) && (payload.exp ?? 0) + lateSeconds > now.getTime() / 1000
    return isAccount && account.isValid && isCurrent ? payload : undefined
  } catch {
    return undefined
  }
}

/** True for a time of issue after now, or one that is not a time. */
function isFromFuture({ iat }: { readonly iat?: unknown }, now: Date): boolean {
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
