/** Exchanges the assertion of a service account for a bearer: `POST /v1/auth/sa/oauth/token`. Source: RFC 7523. */

import { createHash } from 'node:crypto'
import * as z from 'zod'
import { readOptions } from '../../core/util/options.ts'
import { type Clock, isVaultError, type RequestContext, type Vault, VaultError } from '../../index.ts'
import { type ClaimContext, readClaimContext } from './claims.ts'
import { unverifiedClaims } from './read-token.ts'
import { parseKeyID, type ServiceAccountKeyID } from './service-accounts.ts'
import { nowOf, TOLERANCE_SECONDS, verifyClientJwt } from './verify-token.ts'

/** What an exchange needs of a vault. */
export type IssuingVault = Pick<Vault, 'id' | 'credentials' | 'recordRefusal'>

/** What an exchange needs of the host. */
export interface ExchangeOptions {
  /** Returns the vault with an id; undefined if there is none. Called once, with the vault that the key id in the assertion names. */
  vaultOf(vaultID: string): IssuingVault | undefined | Promise<IssuingVault | undefined>
  /** The audiences to accept: the `tokenURI` of key files. */
  readonly tokenURI: string | readonly string[]
  /** Origin of the request, for the event. */
  readonly request?: RequestContext
  /** Default: the clock of the system. */
  readonly clock?: Clock
}

/** The response to a token request. */
export interface TokenResponse {
  readonly accessToken: string
  readonly tokenType: 'Bearer'
}

/** Maximum time to the expiry of an assertion, in seconds. */
const MAX_LIFETIME_SECONDS = 60 * 60

/**
 * Exchanges an assertion for a bearer of at most 60 minutes. One with a `jti` serves once, in all processes together; one without it serves
 * until it expires. Records one event in the vault that the assertion names, if it exists, also for a refusal: the caller records none.
 * Throws `invalid_request` for the body, `unauthenticated`, always the same, for the assertion, `forbidden` for a role that the service
 * account does not have, and what storage throws.
 */
export async function exchangeAssertion(given: ExchangeOptions, body: unknown): Promise<TokenResponse> {
  const options = readOptions(given, ['vaultOf', 'tokenURI', 'request', 'clock'], { of: 'exchangeAssertion' })
  const request = parseTokenRequest(body)
  const claimed = parseKeyID(unverifiedClaims(request.assertion)?.key)
  const vault = claimed === undefined ? undefined : await options.vaultOf(claimed.vaultID)
  const verified = await verify(options, { request, claimed, vault })
  if (vault === undefined || verified === undefined) {
    await vault?.recordRefusal({ error: refusal(), ...(options.request === undefined ? {} : { request: options.request }) })
    throw refusal()
  }
  return issue(vault, verified, { request, origin: options.request })
}

/** A token request, and what its assertion says without being verified. */
interface Exchange {
  readonly request: TokenRequest
  readonly claimed: ServiceAccountKeyID | undefined
  readonly vault: IssuingVault | undefined
}

/** A verified assertion. */
interface Assertion {
  readonly keyID: string
  readonly claimed: ClaimContext
  /** Its id; undefined if it has none: two that are signed in one second are then the same text. */
  readonly jti: string | undefined
  /** Seconds since 1970. */
  readonly expiry: number
}

/** Returns the assertion if it is valid now. An unknown service account costs the same work. */
async function verify(options: ExchangeOptions, { request, claimed, vault }: Exchange): Promise<Assertion | undefined> {
  const now = nowOf(options.clock)
  const found = claimed === undefined ? undefined : await vault?.credentials.find(claimed.keyID)
  const claims = await verifyClientJwt(request.assertion, found, { now, lateSeconds: TOLERANCE_SECONDS })
  if (claims === undefined || found === undefined || claimed === undefined || claimed.vaultID !== vault?.id) return undefined
  const { iss, sub, aud, exp: expiry, jti } = claims
  const isOwn = iss === found.actor && sub === found.actor
  const isHere = typeof aud === 'string' && [options.tokenURI].flat().includes(aud)
  if (!isOwn || !isHere || expiry === undefined || !isAbsentOrText(jti)) return undefined
  if (expiry > now.getTime() / 1000 + MAX_LIFETIME_SECONDS + TOLERANCE_SECONDS) return undefined
  const context = readClaimContext(claims.ctx)
  return context && { keyID: claimed.keyID, claimed: context, jti, expiry }
}

async function issue(
  vault: IssuingVault,
  { keyID, claimed, jti, expiry }: Assertion,
  { request, origin = {} }: { readonly request: TokenRequest; readonly origin: RequestContext | undefined },
): Promise<TokenResponse> {
  const { context, bearerTokenContextID } = claimed
  try {
    const { bearer } = await vault.credentials.issueBearer({
      keyId: keyID,
      ...(jti === undefined
        ? {}
        : { assertion: { text: digestOf(keyID, jti), expiresAt: Math.ceil(expiry + TOLERANCE_SECONDS) * 1000 } }),
      ...(request.roles === undefined ? {} : { roles: request.roles }),
      ...(context === undefined ? {} : { context }),
      request: { ...origin, ...(bearerTokenContextID === undefined ? {} : { bearerTokenContextID }) },
    })
    return { accessToken: bearer, tokenType: 'Bearer' }
  } catch (error) {
    throw isVaultError(error, 'unauthenticated') ? refusal() : error
  }
}

/** True for an id that an assertion can have, or for none. An empty one, or one that is no text, is not an id. */
function isAbsentOrText(jti: unknown): boolean {
  return jti === undefined || (typeof jti === 'string' && jti !== '')
}

/** Returns a digest of the id of an assertion, which is unique for its key alone. A key id has no space. */
function digestOf(keyID: string, jti: string): string {
  return createHash('sha256').update(`${keyID} ${jti}`).digest('hex')
}

/** The one error of an assertion: malformed, of an unknown client, expired, used before, or of a service account that was revoked. */
function refusal(): VaultError {
  return new VaultError('unauthenticated', 'Token request failed. The assertion is not valid. Sign a new one with the key file.')
}

/** A token request. */
export interface TokenRequest {
  readonly assertion: string
  /** Names of roles; undefined for all roles of the service account. */
  readonly roles: readonly string[] | undefined
}

const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

const shape = z.object({
  grant_type: z.literal(GRANT_TYPE),
  assertion: z.string().min(1).max(8192),
  scope: z.string().max(8192).nullish(),
})

/**
 * Returns the request in a body: an object that was JSON, or text that is JSON or a form. Other members are ignored. Throws
 * `invalid_request`, which names the member.
 */
function parseTokenRequest(body: unknown): TokenRequest {
  const parsed = shape.safeParse(typeof body === 'string' ? membersOf(body) : body)
  if (!parsed.success) throw invalid(parsed.error.issues[0]?.path[0])
  const { assertion, scope } = parsed.data
  return { assertion, roles: rolesOf(scope ?? '') }
}

/** Returns the roles that a scope names: `role:<name>` each, separated by spaces. */
function rolesOf(scope: string): readonly string[] | undefined {
  const parts = scope.split(' ').filter((part) => part !== '')
  if (parts.length === 0) return undefined
  const roles = parts.map((part) => /^role:(.{1,128})$/u.exec(part)?.[1] ?? '')
  if (roles.length > 100 || roles.includes('')) throw invalid('scope')
  return roles
}

function membersOf(text: string): unknown {
  if (!text.trimStart().startsWith('{')) {
    const form = new URLSearchParams(text)
    // A member that is sent twice has no one meaning.
    return new Set(form.keys()).size === form.size ? Object.fromEntries(form) : undefined
  }
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function invalid(member: PropertyKey | undefined): VaultError {
  const members: Readonly<Record<string, string>> = {
    grant_type: `grant_type must be ${GRANT_TYPE}.`,
    assertion: 'assertion must be a signed JWT of at most 8,192 characters.',
    scope: 'scope must be role:<name>, once or several times with spaces between, for at most 100 roles.',
  }
  const known = typeof member === 'string' ? members[member] : undefined
  return new VaultError(
    'invalid_request',
    `Token request failed. ${known ?? 'Expected grant_type, assertion and optionally scope.'}`,
  )
}
