/** The law of token formats, and a format that breaks each of its properties. */
import { describe, expect, it } from 'vitest'
import { type TokenFormat, TokenFormatError } from '../../src/core/tokens/token-format.ts'
import { compileFormat, TOKEN_PRESETS, tokenFormatShape } from '../../src/core/tokens/token-formats.ts'
import { tokenFormatProperties, tokenFormatsLaw } from '../laws/token-formats.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { seededRandom } from '../support/random/seeded-random.ts'
import { passesLuhn, tokenFormatSamples } from '../support/tokens/format-samples.ts'

const SEED = 'token formats 1'

itHolds(tokenFormatsLaw)

describe('the registry', () => {
  it('has samples for every preset, and its schema accepts their definitions', () => {
    const definitions = Object.values(tokenFormatSamples).map(({ definition }) => definition)
    const presets = definitions.map((one) => (typeof one === 'string' ? one : 'preset' in one ? one.preset : 'pattern'))
    expect([...new Set(presets)].sort()).toEqual([...TOKEN_PRESETS, 'pattern'].sort())
    for (const definition of definitions) {
      expect(tokenFormatShape.parse(JSON.parse(JSON.stringify(definition)))).toEqual(definition)
    }
  })
})

/** A property, the sample whose format is broken, and how. */
const BROKEN: readonly (readonly [property: number, name: string, fault: (format: TokenFormat) => TokenFormat])[] = [
  [0, 'digits', (format) => withToken(format, (token) => token.slice(1))],
  [0, 'card', () => compileFormat({ preset: 'card', luhn: 'valid' })],
  [0, 'card', () => compileFormat({ preset: 'card', keepLast: 3 })],
  [0, 'ssn', () => compileFormat('digits')],
  [0, 'date', () => compileFormat('digits')],
  [0, 'letters', (format) => ({ ...format, rangeOf: (value) => ({ ...format.rangeOf(value), tokenAt: () => value }) })],
  [
    1,
    'pattern',
    (format) => ({ ...format, rangeOf: (value) => ({ domain: format.capacity, tokenAt: unshaped(format, value) }) }),
  ],
  [1, 'digits', (format) => withRank(format, (rank) => rank - (rank % 2n))],
  [2, 'digits', (format) => withDeterministicRank(format, (rank) => rank - (rank % 1000n))],
  [2, 'date', (format) => withValueRank(format, (rank) => (rank + 1n) % format.capacity)],
  [0, 'phone', (format) => ({ ...format, pattern: '[0-9 ]+' })],
  [2, 'email', ({ pattern, capacity, rangeOf }) => ({ pattern, capacity, rangeOf })],
  [3, 'card', (format) => ({ ...format, capacity: format.capacity * 10n })],
  [3, 'date', (format) => ({ ...format, capacity: 999_999n })],
  [4, 'ssn', (format) => ({ ...format, rangeOf: (value) => quoting(value) })],
  [4, 'digits', (format) => ({ ...format, rangeOf: () => ({ domain: 10n ** 6n, tokenAt: String }) })],
]

describe('a property', () => {
  it.each(BROKEN)('number %i fails for a broken format, %s', (property, name, fault) => {
    const [holds, sample] = [Object.values(tokenFormatProperties)[property], tokenFormatSamples[name]]
    if (holds === undefined || sample === undefined) throw new Error('no such property or sample')
    holds(compileFormat(sample.definition), sample, seededRandom(SEED))
    expect(() => holds(fault(compileFormat(sample.definition)), sample, seededRandom(SEED))).toThrow()
  })

  it('has at least one format that breaks it', () => {
    expect([...new Set(BROKEN.map(([property]) => property))]).toEqual(Object.keys(tokenFormatProperties).map((_, i) => i))
  })

  it('uses a card check that accepts valid and rejects invalid numbers', () => {
    expect(['4111 1111 1111 1111', '5500000000000004', '79927398713'].every(passesLuhn)).toBe(true)
    expect(['4111 1111 1111 1112', '5500000000000040', '79927398710'].some(passesLuhn)).toBe(false)
  })
})

function withToken(format: TokenFormat, change: (token: string) => string): TokenFormat {
  return {
    ...format,
    rangeOf: (value) => ({ ...format.rangeOf(value), tokenAt: (rank) => change(format.rangeOf(value).tokenAt(rank)) }),
  }
}

function withRank(format: TokenFormat, change: (rank: bigint) => bigint): TokenFormat {
  return {
    ...format,
    rangeOf: (value) => ({ ...format.rangeOf(value), tokenAt: (rank) => format.rangeOf(value).tokenAt(change(rank)) }),
  }
}

function withDeterministicRank(format: TokenFormat, change: (rank: bigint) => bigint): TokenFormat {
  const { deterministic } = format
  if (deterministic === undefined) return format
  const rankOf: typeof deterministic.rankOf = (value) => {
    const ranked = deterministic.rankOf(value)
    return { ...ranked, tokenAt: (rank) => ranked.tokenAt(change(rank)) }
  }
  return { ...format, deterministic: { ...deterministic, rankOf } }
}

function withValueRank(format: TokenFormat, change: (rank: bigint) => bigint): TokenFormat {
  const { deterministic } = format
  if (deterministic === undefined) return format
  const rankOfToken: typeof deterministic.rankOfToken = (token) => {
    const ranked = deterministic.rankOfToken(token)
    return ranked && { ...ranked, valueAt: (rank) => ranked.valueAt(change(rank)) }
  }
  return { ...format, deterministic: { ...deterministic, rankOfToken } }
}

/** Every text of the pattern, including the value: a broken format that does not exclude it. */
function unshaped(format: TokenFormat, value: string): (rank: bigint) => string {
  const ranked = format.deterministic?.rankOf(value)
  return (rank) => ranked?.tokenAt(rank) ?? value
}

function quoting(value: string): never {
  throw new TokenFormatError(`must not be ${value}`)
}
