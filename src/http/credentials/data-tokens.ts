/** Signed data tokens: tokens that a client signed with the key of a service account, for a while and for one context. */

import { createPrivateKey } from 'node:crypto'
import { SignJWT } from 'jose'
import * as z from 'zod'
import { readOptions } from '../../core/util/options.ts'
import { type Caller, type Clock, type Vault, VaultError } from '../../index.ts'
import { readClaimContext } from './claims.ts'
import { unverifiedClaims } from './read-token.ts'
import { parseKeyID, type ServiceAccountKey } from './service-accounts.ts'
import { nowOf, verifyClientJwt } from './verify-token.ts'

/** What every signed data token begins with. */
const PREFIX = 'signed_token_'
/** Maximum length of a signed data token: that of any credential. */
const MAX_LENGTH = 8192
/** Seconds after its time for which a token is still valid, because clocks differ. */
const LATE_SECONDS = 5

const shape = z.object({ iss: z.literal('sdk'), sub: z.string(), tok: z.string().min(1).max(512), ctx: z.unknown().optional() })

/** Validity of signed tokens, and their context. */
export interface SignOptions {
  /** Whole seconds, from 1. Default 60. */
  readonly ttlSeconds?: number
  /** As the claim `ctx` of bearers: a caller must have been given the same. */
  readonly ctx?: string | NonNullable<Caller['context']>
  /** Default: the clock of the system. */
  readonly clock?: Clock
}

/** A token and its signed form. */
export interface SignedDataToken {
  readonly token: string
  readonly signedToken: string
}

/** Returns each token signed, in order, as existing clients sign them. */
export async function signDataTokens(
  { privateKey, keyID, clientID }: Pick<ServiceAccountKey, 'privateKey' | 'keyID' | 'clientID'>,
  tokens: readonly string[],
  options: SignOptions = {},
): Promise<SignedDataToken[]> {
  const { ttlSeconds = 60, ctx, clock } = readOptions(options, ['ttlSeconds', 'ctx', 'clock'], { of: 'signDataTokens' })
  if (!Number.isSafeInteger(ttlSeconds) || ttlSeconds < 1)
    throw new VaultError('invalid_request', 'Option "ttlSeconds" must be an integer from 1.')
  const key = createPrivateKey(privateKey)
  const issued = Math.floor(nowOf(clock).getTime() / 1000)
  const sign = (tok: string) =>
    new SignJWT({ iss: 'sdk', key: keyID, sub: clientID, exp: issued + ttlSeconds, iat: issued, tok, ...(ctx && { ctx }) })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
      .sign(key)
  return Promise.all(tokens.map(async (token) => ({ token, signedToken: PREFIX + (await sign(token)) })))
}

/** True for text in the form of a signed data token, which a token of the vault never has. */
export function isSignedToken(text: string): boolean {
  return text.startsWith(PREFIX)
}

/**
 * Returns the token in a signed data token; undefined, for the same work, if it is not one, is expired, is of another vault or a service
 * account that is not valid any more, or if the caller's context lacks an attribute of its `ctx` or has another value there. One read.
 */
export async function resolveSignedToken(
  vault: Pick<Vault, 'id' | 'credentials'>,
  text: string,
  options: { readonly caller: Pick<Caller, 'context'>; readonly clock?: Clock },
): Promise<string | undefined> {
  const { caller, clock } = readOptions(options, ['caller', 'clock'], { of: 'resolveSignedToken' })
  const signed = isSignedToken(text) && text.length <= MAX_LENGTH ? text.slice(PREFIX.length) : ''
  const claimed = parseKeyID(unverifiedClaims(signed)?.key)
  const account = claimed?.vaultID === vault.id ? await vault.credentials.find(claimed.keyID) : undefined
  const claims = await verifyClientJwt(signed, account, { now: nowOf(clock), lateSeconds: LATE_SECONDS })
  const parsed = shape.safeParse(claims)
  if (!parsed.success || parsed.data.sub !== account?.actor) return undefined
  const { tok, ctx } = parsed.data
  return isContextOf(ctx, caller.context ?? {}) ? tok : undefined
}

/** True if a caller has every attribute of a `ctx` claim. A claim that cannot be a context is never the caller's. */
function isContextOf(ctx: unknown, context: NonNullable<Caller['context']>): boolean {
  const claimed = readClaimContext(ctx)
  if (claimed === undefined) return false
  return Object.entries(claimed.context ?? {}).every(([name, value]) => {
    return Object.hasOwn(context, name) && JSON.stringify(context[name]) === JSON.stringify(value)
  })
}
