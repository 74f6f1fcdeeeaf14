/** Tests that sums of doubles are those of exact arithmetic, rounded once. */
import { describe, expect, it } from 'vitest'
import { createExactSum, nearestDouble } from '../../../src/core/sql/exact-sum.ts'
import { type SeededRandom, seededRandom } from '../../support/random/seeded-random.ts'

const LEAST = 5e-324
const GREATEST = Number.MAX_VALUE

/** A finite double of any exponent. */
function anyDouble(random: SeededRandom): number {
  const view = new DataView(new ArrayBuffer(8))
  view.setUint32(0, Math.floor(random() * 2 ** 32))
  view.setUint32(4, Math.floor(random() * 2 ** 32))
  const value = view.getFloat64(0)
  return Number.isFinite(value) ? value : anyDouble(random)
}

/** A double as a count of the least one: by its decimal digits, not by its bits. */
function unitsOf(value: number): bigint {
  let unit = value
  let exponent = 0
  while (!Number.isInteger(unit)) {
    unit *= 2
    exponent++
  }
  return BigInt(unit) << BigInt(1074 - exponent)
}

/** The double nearest to a count of units, found by halving: compares exact numbers only. */
function nearestByHalving(units: bigint): number {
  if (units < 0n) return -nearestByHalving(-units)
  const view = new DataView(new ArrayBuffer(8))
  const doubleOf = (bits: bigint): number => {
    view.setBigUint64(0, bits)
    return view.getFloat64(0)
  }
  let low = 0n
  let high = 0x7fefffffffffffffn
  while (low < high) {
    const middle = (low + high + 1n) / 2n
    if (unitsOf(doubleOf(middle)) <= units) low = middle
    else high = middle - 1n
  }
  const below = units - unitsOf(doubleOf(low))
  const above = unitsOf(doubleOf(low + 1n) === Number.POSITIVE_INFINITY ? GREATEST : doubleOf(low + 1n)) - units
  return doubleOf(below < above || (below === above && low % 2n === 0n) ? low : low + 1n)
}

function sumOf(values: readonly number[]): number {
  const sum = createExactSum()
  for (const value of values) sum.add(value)
  return sum.dividedBy(1)
}

describe('an exact sum', () => {
  it('is the nearest double to the sum of any doubles', () => {
    const random = seededRandom('exact sums')
    for (let round = 0; round < 300; round++) {
      const spread = 2 ** (10 * random())
      const values = Array.from({ length: 1 + Math.floor(random() * 40) }, () => {
        const value = anyDouble(random)
        return round % 3 === 0 ? value / 4096 : (random() - 0.5) * 2 ** Math.floor((random() - 0.5) * spread)
      })
      const exact = values.reduce((total, value) => total + unitsOf(value), 0n)
      const wanted = nearestByHalving(exact)
      expect(sumOf(values)).toBe(wanted)
      expect(sumOf(values.toReversed())).toBe(wanted)
    }
  })

  it('keeps one value as it is, of every exponent', () => {
    const random = seededRandom('single values')
    for (let round = 0; round < 2000; round++) {
      const value = anyDouble(random)
      expect(sumOf([value])).toBe(value + 0)
    }
    for (const value of [LEAST, -LEAST, GREATEST, -GREATEST, 2 ** -1022, 2 ** -1022 - LEAST]) expect(sumOf([value])).toBe(value)
    expect(sumOf([])).toBe(0)
    expect(Object.is(sumOf([-0]), 0)).toBe(true)
  })

  it('passes through infinity, and is infinite only if its result is', () => {
    expect(sumOf([GREATEST, GREATEST, -GREATEST])).toBe(GREATEST)
    expect(sumOf([GREATEST, GREATEST])).toBe(Number.POSITIVE_INFINITY)
    expect(sumOf([-GREATEST, -GREATEST])).toBe(Number.NEGATIVE_INFINITY)
    expect(sumOf([GREATEST, 2 ** 969])).toBe(GREATEST)
    expect(sumOf([GREATEST, 2 ** 970])).toBe(Number.POSITIVE_INFINITY)
  })

  it('carries after a million values', () => {
    const sum = createExactSum()
    const count = 2 ** 20 + 5
    for (let added = 0; added < count; added++) sum.add(0.1)
    for (let added = 0; added < count - 3; added++) sum.add(-0.1)
    expect(sum.dividedBy(1)).toBe(0.30000000000000004)
    expect(sum.dividedBy(3)).toBe(0.1)
  })
})

describe('the nearest double of a fraction', () => {
  it('is even where two are equally near, also below the normal doubles', () => {
    expect(nearestDouble(2n ** 53n + 1n, 1n)).toBe(2 ** 53)
    expect(nearestDouble(2n ** 53n + 3n, 1n)).toBe(2 ** 53 + 4)
    expect(nearestDouble(1n, 2n, -1074)).toBe(0)
    expect(nearestDouble(3n, 2n, -1074)).toBe(2 * LEAST)
    expect(nearestDouble(-3n, 4n, -1074)).toBe(-LEAST)
  })

  it('is the one that division of small integers gives', () => {
    const random = seededRandom('fractions')
    for (let round = 0; round < 2000; round++) {
      const numerator = Math.floor((random() - 0.5) * 2 ** Math.floor(random() * 53))
      const denominator = 1 + Math.floor(random() * 2 ** Math.floor(random() * 40))
      expect(nearestDouble(BigInt(numerator), BigInt(denominator))).toBe(numerator / denominator + 0)
    }
  })
})
