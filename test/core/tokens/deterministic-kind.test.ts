/** Deterministic tokens are UUIDs as the standard library writes them, and no other text is taken for one. */
import fc from 'fast-check'
import { parse, stringify } from 'uuid'
import { describe, expect, it } from 'vitest'
import type { KeyRing } from '../../../src/core/ports/crypto.ts'
import { toDigestUuid } from '../../../src/core/sealing/envelope.ts'
import { deterministicKind } from '../../../src/core/tokens/deterministic-kind.ts'
import type { Derivation } from '../../../src/core/tokens/token-kind.ts'

const RUNS = { seed: 20_261_123, numRuns: 2000 }
/** The token shows the digest, so that no key is asked. */
const NO_RING = {} as KeyRing
const FROM: Derivation = { ring: NO_RING, version: 1, scope: 's', format: undefined }
const TOKEN = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i

const digest = fc.uint8Array({ minLength: 16, maxLength: 16 }).map(toDigestUuid)

function tokenOf(bytes: Uint8Array): string {
  const [token = ''] = deterministicKind.derive(FROM, { digests: () => [bytes], texts: () => [] })
  return token
}

function recovered(texts: readonly string[]): (number[] | undefined)[] {
  return deterministicKind.recover(FROM, texts).map((one) => (one?.kind === 'digest' ? [...one.digest] : undefined))
}

describe('a deterministic token', () => {
  it('is the UUID of its digest, which is recovered from it', () => {
    fc.assert(
      fc.property(digest, (bytes) => {
        const token = tokenOf(bytes)
        expect(token).toBe(stringify(bytes))
        expect(recovered([token])).toEqual([[...bytes]])
      }),
      RUNS,
    )
  })

  it('is no text of another form, whatever one unit is replaced by', () => {
    const unit = fc.oneof(
      fc.constantFrom('0', '9', 'a', 'f', 'g', 'A', 'F', '-', ':', '/', '`', '\0', 'é', '\uff11'),
      fc.string({ minLength: 1, maxLength: 1 }),
    )
    fc.assert(
      fc.property(digest, fc.nat({ max: 35 }), unit, (bytes, place, other) => {
        const token = tokenOf(bytes)
        const text = token.slice(0, place) + other + token.slice(place + 1)
        expect(recovered([text])).toEqual([TOKEN.test(text) ? [...parse(text)] : undefined])
      }),
      RUNS,
    )
  })

  it('is no text of another length', () => {
    const token = tokenOf(toDigestUuid(new Uint8Array(16)))
    const texts = ['', token.slice(1), token.slice(0, -1), `${token}0`, ` ${token}`, `${token}\n`, token.toUpperCase(), token]
    expect(recovered(texts).map((one) => one !== undefined)).toEqual([false, false, false, false, false, false, true, true])
  })
})
