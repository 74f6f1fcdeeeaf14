/** The properties of every token format, for all presets and options. For each property, a format that breaks it fails the test. */
import { describe, expect, it } from 'vitest'
import { keyRingFactory } from '../../src/adapters/keys/key-ring-factory.ts'
import { decryptDeranged, encryptDeranged, type Permutation } from '../../src/core/tokens/derangement.ts'
import { drawRanks } from '../../src/core/tokens/draw-ranks.ts'
import { MIN_DOMAIN, type TokenFormat, TokenFormatError } from '../../src/core/tokens/token-format.ts'
import { compileFormat, TOKEN_PRESETS, tokenFormatShape } from '../../src/core/tokens/token-formats.ts'
import { type SeededRandom, seededRandom } from '../support/random/seeded-random.ts'
import { passesLuhn, type TokenFormatSample, tokenFormatSamples } from '../support/tokens/format-samples.ts'
import { hostileInputs } from '../support/vaults/hostile-inputs.ts'

const SEED = 'token formats 1'
const RUNS = 10_000

/** The permutations of one column in a real key ring. */
function ringAt(scope: string): Permutation {
  const ring = keyRingFactory.createRing('vault', [{ version: 1, key: new Uint8Array(32).fill(7) }])
  return { encrypt: (ranks) => ring.encryptRanks(1, scope, ranks), decrypt: (ranks) => ring.decryptRanks(1, scope, ranks) }
}

type Property = (format: TokenFormat, sample: TokenFormatSample) => void

const properties: Readonly<Record<string, Property>> = {
  'draws tokens that keep the form and are never the value': (format, sample) => {
    const random = seededRandom(SEED)
    const values = Array.from({ length: RUNS / 2 }, () => sample.value(random))
    const shapes = values.map((value) => format.rangeOf(value))
    const ranks = drawRanks(
      random,
      shapes.map(({ domain }) => domain),
    )
    for (const [i, value] of values.entries()) assertToken(sample, value, shapes[i]?.tokenAt(ranks[i] ?? 0n) ?? '')
  },

  'numbers the tokens of a value without gaps: the first, the last, and those next to the value': (format, sample) => {
    const random = seededRandom(SEED)
    for (let round = 0; round < 20; round++) {
      const value = sample.value(random)
      const { domain, tokenAt } = format.rangeOf(value)
      const own = format.deterministic?.rankOf(value).value ?? 0n
      const around = Array.from({ length: 100 }, (_, i) => [BigInt(i), domain - 1n - BigInt(i), own + BigInt(i) - 50n]).flat()
      const ranks = [...new Set(around.filter((rank) => rank >= 0n && rank < domain))]
      const tokens = ranks.map((rank) => tokenAt(rank))
      for (const token of tokens) assertToken(sample, value, token)
      if (new Set(tokens).size !== ranks.length) throw new Error('two ranks have one token')
    }
  },

  'computes tokens that keep the form, are never the value, differ for different values, and decrypt to the value': (
    format,
    sample,
  ) => {
    const { deterministic } = format
    expect(deterministic !== undefined).toBe(sample.deterministic)
    if (deterministic === undefined) return
    const permutation = ringAt('cards.number')
    const values = distinctValues(sample, seededRandom(SEED))
    const ranked = values.map((value) => deterministic.rankOf(value))
    const images = encryptDeranged(permutation, ranked)
    const tokens = ranked.map(({ tokenAt }, i) => tokenAt(images[i] ?? 0n))
    for (const [i, token] of tokens.entries()) assertToken(sample, values[i] ?? '', token)
    if (new Set(tokens).size !== values.length) throw new Error('two values have one token')
    const back = tokens.map((token) => deterministic.rankOfToken(token) ?? fail('a token is not recognized'))
    const origins = decryptDeranged(permutation, back)
    for (const [i, { valueAt }] of back.entries())
      if (valueAt(origins[i] ?? 0n) !== values[i]) fail('a token resolves to another value')
  },

  'has at least its capacity of tokens for every value, and at least a million': (format, sample) => {
    const random = seededRandom(SEED)
    const [min, possibilities] = sample.least
    expect(format.capacity).toBeGreaterThanOrEqual(MIN_DOMAIN)
    expect(format.capacity).toBe(possibilities)
    // The value itself is not one of its tokens.
    expect([possibilities, possibilities - 1n]).toContain(format.rangeOf(min).domain)
    for (let round = 0; round < 500; round++) {
      const value = sample.value(random)
      expect(format.rangeOf(value).domain).toBeGreaterThanOrEqual(format.capacity - 1n)
      const ranked = format.deterministic?.rankOf(value)
      expect(ranked === undefined || ranked.domain >= MIN_DOMAIN).toBe(true)
      expect(ranked === undefined || ranked.domain >= (format.deterministic?.capacity ?? 0n)).toBe(true)
      expect(ranked === undefined || (ranked.value >= 0n && ranked.value < ranked.domain)).toBe(true)
    }
  },

  'rejects values without a token by a clause that does not quote them, and does not accept them as tokens': (format, sample) => {
    const hostile = hostileInputs().flatMap(([, input]) => (typeof input === 'string' ? [input] : []))
    expect(hostile.length).toBeGreaterThan(5)
    for (const value of [...sample.refused, ...hostile, 'x'.repeat(300), '1'.repeat(300), `${'9'.repeat(2_000_000)}@`]) {
      const isRefused = refuses(() => format.rangeOf(value), value)
      if (sample.refused.includes(value)) expect(isRefused, JSON.stringify(value)).toBe(true)
      if (refuses(() => format.deterministic?.rankOf(value), value))
        expect(format.deterministic?.rankOfToken(value)).toBeUndefined()
    }
  },
}

describe.each(Object.entries(tokenFormatSamples))('the token format %s', (_name, sample) => {
  it.each(Object.entries(properties))('%s', (_name, holds) => {
    holds(compileFormat(sample.definition), sample)
  })
})

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
  [2, 'email', ({ capacity, rangeOf }) => ({ capacity, rangeOf })],
  [3, 'card', (format) => ({ ...format, capacity: format.capacity * 10n })],
  [3, 'date', (format) => ({ ...format, capacity: 999_999n })],
  [4, 'ssn', (format) => ({ ...format, rangeOf: (value) => quoting(value) })],
  [4, 'digits', (format) => ({ ...format, rangeOf: () => ({ domain: 10n ** 6n, tokenAt: String }) })],
]

describe('a property', () => {
  it.each(BROKEN)('number %i fails for a broken format, %s', (property, name, fault) => {
    const [holds, sample] = [Object.values(properties)[property], tokenFormatSamples[name]]
    if (holds === undefined || sample === undefined) throw new Error('no such property or sample')
    holds(compileFormat(sample.definition), sample)
    expect(() => holds(fault(compileFormat(sample.definition)), sample)).toThrow()
  })

  it('has at least one format that breaks it', () => {
    expect([...new Set(BROKEN.map(([property]) => property))]).toEqual(Object.keys(properties).map((_, i) => i))
  })

  it('uses a card check that accepts valid and rejects invalid numbers', () => {
    expect(['4111 1111 1111 1111', '5500000000000004', '79927398713'].every(passesLuhn)).toBe(true)
    expect(['4111 1111 1111 1112', '5500000000000040', '79927398710'].some(passesLuhn)).toBe(false)
  })
})

function fail(sentence: string): never {
  throw new Error(`${sentence} (seed ${SEED})`)
}

function distinctValues(sample: TokenFormatSample, random: SeededRandom): string[] {
  const values = new Set<string>()
  while (values.size < RUNS) values.add(sample.value(random))
  return [...values]
}

function assertToken(sample: TokenFormatSample, value: string, token: string): void {
  if (token === value) fail(`${token} stands for itself`)
  if (!sample.keeps(value, token)) fail(`${token} does not keep the form of ${value}`)
  if (!sample.holds(token)) fail(`${token} breaks the promise of its format`)
  if (token.length > 256) fail('a token is longer than 256 characters')
}

/** True if the work throws a `TokenFormatError` that is a clause and quotes no value. Any other error is thrown on. */
function refuses(work: () => unknown, value: string): boolean {
  try {
    work()
    return false
  } catch (error) {
    if (!(error instanceof TokenFormatError)) throw error
    expect(error.message).toMatch(/^must /)
    expect(error.message.length).toBeLessThan(200)
    if (value.length > 3) expect(error.message).not.toContain(value)
    return true
  }
}

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
