/** Replaces signed data tokens of a request by the tokens in them. */
import { VaultError } from '../../index.ts'
import { isSignedToken, resolveSignedToken } from '../credentials/data-tokens.ts'
import { nextTurn } from '../router/json-response.ts'
import type { VaultAccess } from '../router/route.ts'

/** Maximum number of signed tokens of a request: each signature is verified before the vault counts the tokens. */
const MAX_SIGNED_TOKENS = 1000
/** Signatures that are verified together. Other requests have their turn after them: a thousand take longer than they can wait. */
const TOGETHER = 20

/**
 * Returns the tokens as the vault knows them. One that is signed, and not valid for this caller, becomes text that no vault gives as a token.
 * Throws `limit_exceeded` for over 1,000 signed tokens. Without a signed one there is no promise.
 */
export function bareTokens(access: Access, tokens: readonly string[]): Promise<readonly string[]> | readonly string[] {
  return tokens.some(isSignedToken) ? resolveAll(access, tokens) : tokens
}

type Access = Pick<VaultAccess, 'vault' | 'caller'>

async function resolveAll(access: Access, tokens: readonly string[]): Promise<string[]> {
  const bare = [...tokens]
  const signed = [...tokens.entries()].filter(([, token]) => isSignedToken(token))
  if (signed.length > MAX_SIGNED_TOKENS)
    throw new VaultError('limit_exceeded', `More than ${MAX_SIGNED_TOKENS} signed tokens. Split the request.`)
  for (let start = 0; start < signed.length; start += TOGETHER) {
    if (start > 0) await nextTurn()
    const slice = signed.slice(start, start + TOGETHER)
    await Promise.all(
      slice.map(async ([index, token]) => {
        bare[index] = (await resolveSignedToken(access.vault, token, { caller: access.caller })) ?? ''
      }),
    )
  }
  return bare
}
