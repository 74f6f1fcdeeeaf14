/** Bearers that are JWTs of known issuers. */
import type { Authenticate, Authenticated, CredentialRequest, Refused } from './authenticate.ts'
import { callerOfClaims } from './caller-of-claims.ts'
import { type JwtOptions, parseJwtOptions, type ReadyIssuer, type ReadyOptions } from './jwt-options.ts'
import { readToken, type UnverifiedToken } from './read-token.ts'
import { verifyToken } from './verify-token.ts'

const MAX_LENGTH = 8192

/**
 * Returns the authenticator of JWTs. Text that is no JWT of one of the issuers is of another kind. A token is refused once its `jti` is revoked
 * by `session.revokeCredential`. Throws `invalid_request` if an option is invalid. The authenticator throws `unavailable` if the keys of an
 * issuer cannot be fetched, and what the storage of the vault throws.
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
  // Asked only of a vault that the token names, so that the time of an answer does not show whether another vault exists.
  const isRevoked = 'caller' in answer && (await request.vault?.credentials.isRevoked(verified.claims.jti))
  return isRevoked === true ? { refused: 'revoked' } : answer
}
