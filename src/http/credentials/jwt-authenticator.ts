/** Bearers that are JWTs of known issuers, and the callers that their claims make. */
import * as z from 'zod'
import type { Authenticate, Authenticated, CredentialRequest, Refused } from './authenticate.ts'
import { isEventText, readClaimContext } from './claims.ts'
import { type JwtOptions, parseJwtOptions, type ReadyIssuer, type ReadyOptions } from './jwt-options.ts'
import { readToken, type UnverifiedToken } from './read-token.ts'
import { type JwtClaims, type VerifiedToken, verifyToken } from './verify-token.ts'

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

const MAX_ACTOR_LENGTH = 320

const vaultList = z.array(z.string())
const roleList = z.array(z.string().min(1).max(128)).max(100)
const actorName = z.custom<string>((value) => isEventText(value) && value.length <= MAX_ACTOR_LENGTH)

/** A verified token, its issuer, and the vault that the request names. */
export interface TokenUse {
  readonly token: VerifiedToken
  readonly issuer: ReadyIssuer
  readonly vaultID: string
}

/** Returns the caller, or why the token does not make one for this vault. */
function callerOfClaims(
  { token: { claims, kid }, issuer, vaultID }: TokenUse,
  { roles, actor }: Pick<JwtOptions, 'roles' | 'actor'>,
): Authenticated | Refused {
  const vaults = checked(vaultList, () => issuer.vaults(claims))
  if (!vaults?.includes(vaultID)) return { refused: vaults === undefined ? refusal('vaults') : 'vault that it does not name' }
  const granted = checked(roleList, () => roles(claims, vaultID))
  if (granted === undefined) return { refused: refusal('roles') }
  const isService = issuer.mode === 'SERVICE_ACCOUNT_JWT'
  const named = checked(actorName, () => (actor === undefined ? defaultActor(claims, isService) : actor(claims)))
  if (named === undefined) return { refused: refusal('actor') }
  const attributes = readClaimContext(claims.ctx)
  if (attributes === undefined) return { refused: 'ctx claim that cannot be kept as it is' }
  const { context, bearerTokenContextID } = attributes
  return {
    caller: {
      actor: named,
      actorType: isService ? 'SERVICE_ACCOUNT' : 'USER',
      roles: granted,
      ...(context === undefined ? {} : { context }),
    },
    credential: {
      authMode: issuer.mode,
      jwtID: claims.jti,
      ...(bearerTokenContextID === undefined ? {} : { bearerTokenContextID }),
      ...(claims.sub === undefined ? {} : { subject: claims.sub }),
      // Specification, "Audit event": users' tokens have no key id.
      ...(isService && kid !== undefined ? { keyID: kid } : {}),
      ...(isEventText(claims.sid) ? { sessionID: claims.sid } : {}),
    },
  }
}

function defaultActor({ email, email_verified: isVerified, sub }: JwtClaims, isService: boolean): unknown {
  return isService || email === undefined || isVerified === false ? sub : email
}

/** Returns what a function of the host returns, if it has the form; undefined if not, or if the function throws. */
function checked<T>(form: z.ZodType<T>, call: () => unknown): T | undefined {
  try {
    return form.safeParse(call()).data
  } catch {
    return undefined
  }
}

function refusal(option: 'vaults' | 'roles' | 'actor'): string {
  return `the function ${option} throws, or does not return what it must`
}
