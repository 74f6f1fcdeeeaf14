/** From the verified claims of a token to the caller and the members of its events. */
import * as z from 'zod'
import type { Authenticated, Refused } from './authenticate.ts'
import { readClaimContext } from './claim-context.ts'
import { isEventText } from './event-text.ts'
import type { JwtOptions, ReadyIssuer } from './jwt-options.ts'
import type { JwtClaims, VerifiedToken } from './verify-token.ts'

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
export function callerOfClaims(
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
