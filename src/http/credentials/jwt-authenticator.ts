/** Bearers that are JWTs of known issuers. */
import { isVaultError, VaultError } from '../../index.ts'
import type { Authenticate, Authenticated, CredentialRequest, Refused } from './authenticate.ts'
import { callerOfClaims } from './caller-of-claims.ts'
import { type JwtOptions, parseJwtOptions, type ReadyIssuer, type ReadyOptions } from './jwt-options.ts'
import { readToken, type UnverifiedToken } from './read-token.ts'
import { type JwtClaims, verifyToken } from './verify-token.ts'

const MAX_LENGTH = 8192

/**
 * Returns the authenticator of JWTs. Text that is no JWT of one of the issuers is of another kind. Throws `invalid_request` if an option is
 * invalid. The authenticator throws `unavailable` if the keys of an issuer cannot be fetched, and what `isRevoked` throws.
 */
export function jwt(options: JwtOptions): Authenticate {
  const ready = parseJwtOptions(options)
  return async (request) => {
    if (request.credential.length > MAX_LENGTH) return { refused: 'longer than 8,192 characters' }
    const token = readToken(request.credential)
    const issuer = token === undefined ? undefined : ready.issuers.get(token.issuer)
    return token === undefined || issuer === undefined ? undefined : check({ token, issuer, request }, ready)
  }
}

interface Checked {
  readonly token: UnverifiedToken
  readonly issuer: ReadyIssuer
  readonly request: CredentialRequest
}

async function check({ token, issuer, request }: Checked, ready: ReadyOptions): Promise<Authenticated | Refused> {
  const verified = await verifyToken(token, issuer, ready.now())
  if ('refused' in verified) return verified
  const answer = callerOfClaims({ token: verified, issuer, vaultID: request.vaultID }, ready)
  // Asked only for a vault that the token names, so that the time of an answer does not show whether another vault exists.
  if ('refused' in answer || !(await isRevoked(ready, request, verified.claims))) return answer
  return { refused: 'revoked' }
}

/** Returns false only for the answer false. */
async function isRevoked(ready: ReadyOptions, { vault }: CredentialRequest, claims: JwtClaims): Promise<boolean> {
  if (ready.isRevoked === undefined || vault === undefined) return false
  try {
    return (await ready.isRevoked(vault, claims)) !== false
  } catch (error) {
    if (isVaultError(error)) throw error
    throw new VaultError('unavailable', 'Whether the token is revoked cannot be found out. Retry.')
  }
}
