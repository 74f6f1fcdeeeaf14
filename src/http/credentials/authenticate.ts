/** The port through which every kind of credential is checked, and several of its authenticators as one. */
import type { Caller, RequestContext } from '../../index.ts'
import type { HostedVault } from '../vaults/open-vaults.ts'

/** What a credential is checked against. */
export interface CredentialRequest {
  /** The text after "Bearer ": 1 to 8,192 visible characters. */
  readonly credential: string
  /** The vault that the request names; undefined for an unknown one. */
  readonly vault: HostedVault | undefined
  /** Id of the vault that the request names, whether it exists or not. */
  readonly vaultID: string
  /** Returns a header by its name in lower case. */
  header(name: string): string | undefined
}

/** The members of an event that a credential determines. */
export type CredentialRecord = Pick<
  RequestContext,
  'authMode' | 'jwtID' | 'keyID' | 'bearerTokenContextID' | 'subject' | 'sessionID'
>

/** An authenticated caller. */
export interface Authenticated {
  readonly caller: Pick<Caller, 'actor' | 'actorType' | 'roles' | 'context'>
  readonly credential: CredentialRecord
}

/** A credential that is refused. The reason goes into the log of the host, never into a response or an event. */
export interface Refused {
  readonly refused: string
}

/**
 * Checks a credential. Returns undefined for one of another kind, which the next authenticator then checks. Throws only what makes the check
 * impossible, such as `unavailable`. A credential of another vault is refused like an unknown one.
 */
export type Authenticate = (request: CredentialRequest) => Promise<Authenticated | Refused | undefined>

/** Returns an authenticator that asks one, or each of a list in order, and refuses a credential that none of them recognizes. */
export function combined(given: Authenticate | readonly Authenticate[]): Authenticate {
  const authenticators = typeof given === 'function' ? [given] : [...given]
  return async (request) => {
    for (const authenticate of authenticators) {
      const answer = await authenticate(request)
      if (answer !== undefined) return answer
    }
    return { refused: 'unknown kind of credential' }
  }
}
