/** Keys of an issuer that are fetched from its JWKS address, and kept for a time. */
import { type CryptoKey, createRemoteJWKSet, customFetch, errors } from 'jose'
import { VaultError } from '../../index.ts'
import type { KeySource } from './key-source.ts'

/** How long fetched keys are used without fetching them again: the time after which a key that the issuer withdrew is refused. */
const MAX_AGE_MS = 600_000
/** Shortest time between a fetch and one for a key id that it did not have: invented ids cause no more fetches than that. */
const COOLDOWN_MS = 5_000
/** Shortest time between a failed fetch and the next one. */
const RETRY_MS = 1_000
const TIMEOUT_MS = 5_000
const MAX_BYTES = 1_000_000
/** Keys that are tried for a token without a key id. */
const MAX_KEYS_TRIED = 8

/** The keys of a JWKS address. A key id that is new is fetched. Throws `unavailable` if the server does not answer with a key set. */
export function createRemoteKeys(url: URL, { timeoutMs = TIMEOUT_MS }: { readonly timeoutMs?: number } = {}): KeySource {
  let failedAt = Number.NEGATIVE_INFINITY
  const keys = createRemoteJWKSet(url, {
    cacheMaxAge: MAX_AGE_MS,
    cooldownDuration: COOLDOWN_MS,
    timeoutDuration: timeoutMs,
    [customFetch]: async (address, init) => {
      const elapsed = Date.now() - failedAt
      // Less than zero after the clock was set back.
      if (elapsed >= 0 && elapsed < RETRY_MS) throw new Error('The last fetch failed a moment ago.')
      return readBounded(await fetch(address, init))
    },
  })
  return {
    async find(hint) {
      try {
        return [await keys({ ...hint })]
      } catch (error) {
        if (error instanceof errors.JWKSNoMatchingKey) return []
        if (error instanceof errors.JWKSMultipleMatchingKeys) return firstOf(error)
        const elapsed = Date.now() - failedAt
        if (!(elapsed >= 0 && elapsed < RETRY_MS)) failedAt = Date.now()
        throw new VaultError('unavailable', 'The keys of the issuer cannot be fetched. Retry.')
      }
    },
  }
}

/** Returns the response with its whole body. Throws if it is too long, before more of it is read. */
async function readBounded(response: Response): Promise<Response> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > MAX_BYTES) throw new Error('The key set is too long.')
    chunks.push(chunk)
  }
  return new Response(Buffer.concat(chunks), { status: response.status })
}

async function firstOf(keys: AsyncIterable<CryptoKey>): Promise<readonly CryptoKey[]> {
  const first: CryptoKey[] = []
  for await (const key of keys) {
    first.push(key)
    if (first.length === MAX_KEYS_TRIED) break
  }
  return first
}
