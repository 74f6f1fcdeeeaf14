/** Asks an authenticator about a credential. */
import { isDeepStrictEqual } from 'node:util'
import type { Authenticate, Authenticated, CredentialRequest } from '../../../src/http/credentials/authenticate.ts'
import { jwt } from '../../../src/http/credentials/jwt-authenticator.ts'
import type { JwtIssuer, JwtOptions } from '../../../src/http/credentials/jwt-options.ts'
import { AUDIENCE, CLOCK, ISSUER, RSA } from './issuer.ts'

/** An issuer of RS256 tokens that name their vaults, with changes. */
export function issuer(changes: Partial<JwtIssuer> = {}): JwtIssuer {
  return {
    issuer: ISSUER,
    audience: AUDIENCE,
    algorithms: ['RS256'],
    ...('jwks' in changes ? {} : { keys: [RSA.publicKey] }),
    vaults: (claims) => claims.vaults,
    ...changes,
  }
}

/** The authenticator of one issuer at the time of the tests, with changes. */
export function authenticator(changes: Partial<JwtIssuer> = {}, options: Partial<JwtOptions> = {}): Authenticate {
  return jwt({ issuers: [issuer(changes)], roles: (claims) => claims.roles, clock: CLOCK, ...options })
}

/** A request with a credential, for the vault `v1`, which is not open. */
export function requestOf(credential: string, changes: Partial<CredentialRequest> = {}): CredentialRequest {
  return { credential, vault: undefined, vaultID: 'v1', header: () => undefined, ...changes }
}

/** Returns the answer to an accepted credential. Throws the reason of a refusal. */
export async function accepted(authenticate: Authenticate, credential: string, vaultID = 'v1'): Promise<Authenticated> {
  const answer = await authenticate(requestOf(credential, { vaultID }))
  if (answer === undefined) throw new Error('another kind of credential')
  if ('refused' in answer) throw new Error(answer.refused)
  return answer
}

/** Returns the reason of a refusal; undefined for another kind of credential. Throws if the credential is accepted. */
export async function refusal(authenticate: Authenticate, credential: string, vaultID = 'v1'): Promise<string | undefined> {
  const answer = await authenticate(requestOf(credential, { vaultID }))
  if (answer === undefined) return undefined
  if ('refused' in answer && isDeepStrictEqual(Object.keys(answer), ['refused'])) return answer.refused
  throw new Error('accepted')
}
