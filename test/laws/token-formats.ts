/** Law: the properties that every token format has, for all presets and options. */
import { expect } from 'vitest'
import { keyRingFactory } from '../../src/adapters/keys/key-ring-factory.ts'
import { decryptDeranged, encryptDeranged, type Permutation } from '../../src/core/tokens/derangement.ts'
import { drawRanks } from '../../src/core/tokens/draw-ranks.ts'
import { MIN_DOMAIN, type TokenFormat, TokenFormatError } from '../../src/core/tokens/token-format.ts'
import { compileFormat } from '../../src/core/tokens/token-formats.ts'
import type { SeededRandom } from '../support/random/seeded-random.ts'
import { type TokenFormatSample, tokenFormatSamples } from '../support/tokens/format-samples.ts'
import { hostileInputs } from '../support/vaults/hostile-inputs.ts'
import type { Law } from './law.ts'

/** Values of a case. */
const RUNS = 2500

const formats = Object.entries(tokenFormatSamples)

/** The permutations of one column in a real key ring. */
function ringAt(scope: string): Permutation {
  const ring = keyRingFactory.createRing('vault', [{ version: 1, key: new Uint8Array(32).fill(7) }])
  return { encrypt: (ranks) => ring.encryptRanks(1, scope, ranks), decrypt: (ranks) => ring.decryptRanks(1, scope, ranks) }
}

/** Throws if the property does not hold for a format. All values follow from `random`. */
export type TokenFormatProperty = (format: TokenFormat, sample: TokenFormatSample, random: SeededRandom) => void

export const tokenFormatProperties: Readonly<Record<string, TokenFormatProperty>> = {
  'draws tokens that keep the form and are never the value': (format, sample, random) => {
    const values = Array.from({ length: RUNS / 2 }, () => sample.value(random))
    const shapes = values.map((value) => format.rangeOf(value))
    const ranks = drawRanks(
      random,
      shapes.map(({ domain }) => domain),
    )
    const isFound = new RegExp(`^(?:${format.pattern})$`, 'u')
    for (const [i, value] of values.entries()) {
      const token = shapes[i]?.tokenAt(ranks[i] ?? 0n) ?? ''
      assertToken(sample, value, token)
      if (!isFound.test(token)) fail(`${token} is not found by the pattern of its format`)
    }
  },

  'numbers the tokens of a value without gaps: the first, the last, and those next to the value': (format, sample, random) => {
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
    random,
  ) => {
    const { deterministic } = format
    expect(deterministic !== undefined).toBe(sample.deterministic)
    if (deterministic === undefined) return
    const permutation = ringAt('cards.number')
    const values = distinctValues(sample, random)
    const ranked = values.map((value) => deterministic.rankOf(value))
    const images = encryptDeranged(permutation, ranked)
    const tokens = ranked.map(({ tokenAt }, i) => tokenAt(images[i] ?? 0n))
    const isFound = new RegExp(`^(?:${format.pattern})$`, 'u')
    for (const [i, token] of tokens.entries()) {
      assertToken(sample, values[i] ?? '', token)
      if (!isFound.test(token)) fail(`${token} is not found by the pattern of its format`)
    }
    if (new Set(tokens).size !== values.length) throw new Error('two values have one token')
    const back = tokens.map((token) => deterministic.rankOfToken(token) ?? fail('a token is not recognized'))
    const origins = decryptDeranged(permutation, back)
    for (const [i, { valueAt }] of back.entries())
      if (valueAt(origins[i] ?? 0n) !== values[i]) fail('a token resolves to another value')
  },

  'has at least its capacity of tokens for every value, and at least a million': (format, sample, random) => {
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

/** A case is one format with every property. */
export const tokenFormatsLaw: Law = {
  name: 'token-formats',
  statement:
    'Tokens of every format keep the form of their value, are never the value, and decrypt to it if they are deterministic',
  unit: 'values',
  figures: { test: formats.length * RUNS, soak: 400 * formats.length * RUNS },
  weight: 1,
  open: () => ({
    check({ number, random }) {
      for (const [name, sample] of formats.slice(number % formats.length).slice(0, 1)) {
        for (const [property, holds] of Object.entries(tokenFormatProperties)) {
          try {
            holds(compileFormat(sample.definition), sample, random.fork(property))
          } catch (error) {
            throw new Error(`${name} ${property}`, { cause: error })
          }
        }
      }
      return RUNS
    },
  }),
}

function fail(sentence: string): never {
  throw new Error(sentence)
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
