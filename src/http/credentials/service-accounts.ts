/** Bearers of service accounts, as `exchangeAssertion` gives them. */
import { assertOptions } from '../../core/util/options.ts'
import type { Authenticate } from './authenticate.ts'
import { readClaimContext } from './claim-context.ts'
import { unverifiedClaims } from './unverified-claims.ts'

/**
 * Returns the authenticator of bearers of service accounts. Text that does not say of itself that a vault issued it for a service account is of
 * another kind.
 */
export function serviceAccounts(options: Readonly<Record<string, never>> = {}): Authenticate {
  assertOptions(options, [], { of: 'serviceAccounts' })
  return async ({ credential, vault }) => {
    const bearer = await vault?.credentials.verifyBearer(credential)
    if (bearer === undefined) return isLikeBearer(credential) ? { refused: 'bearer that is not valid' } : undefined
    const { actor, actorType, roles, context, keyId: keyID, jwtID } = bearer
    const { bearerTokenContextID } = readClaimContext(context) ?? {}
    return {
      caller: { actor, actorType, roles, ...(context === undefined ? {} : { context }) },
      credential: {
        ...{ authMode: 'SERVICE_ACCOUNT_JWT', jwtID, keyID, subject: actor },
        ...(bearerTokenContextID === undefined ? {} : { bearerTokenContextID }),
      },
    }
  }
}

/** True for a JWT with the claims of a bearer. Nothing in it is verified. */
function isLikeBearer(text: string): boolean {
  const { iss, aud, key, roles } = unverifiedClaims(text) ?? {}
  return iss !== undefined && iss === aud && typeof key === 'string' && Array.isArray(roles)
}
