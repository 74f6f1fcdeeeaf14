/** Tests that aggregates computed value by value equal those computed by storage. */
import { describe, expect, it } from 'vitest'
import { assignIds, EMPTY_CATALOG_SCHEMA } from '../../../src/core/schema/catalog-schema.ts'
import type { Column } from '../../../src/core/schema/column-layout.ts'
import { layoutSchema } from '../../../src/core/schema/layout.ts'
import { createAccumulator, resultsOfCells, storageAggregates } from '../../../src/core/sql/aggregate.ts'
import { nearestDouble } from '../../../src/core/sql/exact-sum.ts'
import type { AggregateOutput } from '../../../src/core/sql/query.ts'
import type { AggregateName } from '../../../src/core/sql/select.ts'
import { toSafeNumber } from '../../../src/core/values/column-type.ts'
import { openQueries } from '../../support/queries/open-queries.ts'
import { seededRandom } from '../../support/random/seeded-random.ts'

const TABLES = {
  t: {
    whole: { type: 'INTEGER' },
    plain_whole: { type: 'INTEGER', encrypted: false },
    real: { type: 'FLOAT' },
    plain_real: { type: 'FLOAT', encrypted: false },
    text: { type: 'STRING' },
    plain_text: { type: 'STRING', encrypted: false },
    moment: { type: 'DATETIME' },
    plain_moment: { type: 'DATETIME', encrypted: false },
    digested: { type: 'STRING', searchable: true },
  },
} as const

/** Strings whose order by UTF-16 units differs from their order by code points. */
const TEXTS = ['a', 'B', '', '\u00e9', '\ue000', '\uffee', '\u{10000}', '\u{10ffff}', 'a\u{10000}']

const table = layoutSchema(assignIds(TABLES, EMPTY_CATALOG_SCHEMA)).tables.get('t')

function columnNamed(name: string): Column {
  const column = table?.byName.get(name)
  if (column === undefined) throw new Error(`no column ${name}`)
  return column
}

function output(name: AggregateName, column: string | undefined): AggregateOutput {
  return {
    key: 'x',
    name,
    isDistinct: false,
    at: 7,
    ref: column === undefined ? undefined : { source: 0, column: columnNamed(column) },
  }
}

function answer(name: AggregateName, column: string, values: readonly unknown[]) {
  const accumulator = createAccumulator(output(name, column), () => {})
  for (const value of values) accumulator.add(value)
  return accumulator.result()
}

describe('an accumulator', () => {
  it('adds integers exactly in any order', () => {
    const random = seededRandom('sums')
    for (let round = 0; round < 300; round++) {
      const values = Array.from({ length: 1 + Math.floor(random() * 30) }, () => {
        const big = BigInt(Math.floor((random() - 0.5) * 2 ** 53)) * 2n ** BigInt(Math.floor(random() * 11))
        return toSafeNumber(big)
      })
      const exact = values.reduce<bigint>((sum, value) => sum + BigInt(value), 0n)
      const near = toSafeNumber(exact)
      expect(answer('sum', 'whole', values)).toBe(typeof near === 'number' ? near : near.toString())
      expect(answer('avg', 'whole', values)).toBe(nearestDouble(exact, BigInt(values.length)))
    }
  })

  it('returns null for no values, and COUNT returns 0', () => {
    for (const name of ['sum', 'avg', 'min', 'max'] as const) {
      expect(answer(name, 'whole', [])).toBeNull()
      expect(answer(name, 'whole', [null, null])).toBeNull()
    }
    expect(answer('count', 'text', [])).toBe(0)
    expect(answer('count', 'text', [null, '', 'a', null])).toBe(2)
  })

  it('counts equal values once, and reports what it keeps', () => {
    const kept: unknown[] = []
    const accumulator = createAccumulator({ ...output('count', 'whole'), isDistinct: true }, (value) => kept.push(value))
    const far = 2n ** 63n - 1n
    for (const value of [1, 2, 1, null, far, far - 1n, far, 2]) accumulator.add(value)
    expect(accumulator.result()).toBe(4)
    expect(kept).toEqual([1, 2, far, far - 1n])
  })

  it('orders strings by code point and DATETIMEs by time', () => {
    expect(answer('max', 'text', ['\u{10000}', '\ue000', null])).toBe('\u{10000}')
    expect(answer('min', 'text', ['b', 'B', 'a'])).toBe('B')
    expect(answer('max', 'moment', ['2020-01-01T00:00:00Z', '2020-01-01T00:00:00.5Z'])).toBe('2020-01-01T00:00:00.5Z')
  })

  it("throws a range error at the function's offset for a sum that overflows a double", () => {
    const accumulator = createAccumulator(output('sum', 'real'), () => {})
    accumulator.add(1e308)
    accumulator.add(1e308)
    expect(() => accumulator.result()).toThrow(expect.objectContaining({ kind: 'range', at: 7 }))
  })

  it('gives the mean of doubles whose sum overflows', () => {
    expect(answer('avg', 'real', [1e308, 1e308, 1e308])).toBe(1e308)
    expect(answer('avg', 'real', [Number.MAX_VALUE, Number.MAX_VALUE])).toBe(Number.MAX_VALUE)
  })

  it('adds doubles exactly, in any order', () => {
    expect(answer('sum', 'real', [1e300, 0.1, -1e300])).toBe(0.1)
    expect(answer('sum', 'real', [1, 2 ** 53, -(2 ** 53)])).toBe(1)
    expect(
      answer(
        'sum',
        'real',
        Array.from({ length: 10 }, () => 0.1),
      ),
    ).toBe(1)
    expect(answer('avg', 'real', [0.1, 0.2, 0.3])).toBe(0.2)
  })
})

describe('storage aggregates', () => {
  it('replace aggregates over plain columns and counts over digests, all or none', () => {
    const inStorage = (...aggregates: AggregateOutput[]) => storageAggregates({ kind: 'totals', aggregates })
    expect(inStorage(output('count', undefined), output('min', 'plain_text'))).toEqual([
      { kind: 'count' },
      { kind: 'min', column: columnNamed('plain_text').plain },
    ])
    expect(inStorage(output('count', 'digested'))).toEqual([{ kind: 'count', column: columnNamed('digested').digest }])
    expect(inStorage(output('count', 'text'))).toBeUndefined()
    expect(inStorage(output('min', 'digested'))).toBeUndefined()
    expect(inStorage(output('sum', 'plain_whole'), output('sum', 'whole'))).toBeUndefined()
    const whole = columnNamed('plain_whole').plain
    expect(inStorage(output('avg', 'plain_whole'), output('sum', 'plain_whole'))).toEqual([
      { kind: 'sum', column: whole },
      { kind: 'count', column: whole },
      { kind: 'sum', column: whole },
    ])
    expect(inStorage(output('sum', 'plain_real'))).toBeUndefined()
    expect(inStorage(output('count', undefined), output('avg', 'plain_real'))).toBeUndefined()
  })

  it('become one result for each output', () => {
    const outputs = [output('avg', 'plain_whole'), output('min', 'plain_whole'), output('avg', 'plain_whole')]
    expect(resultsOfCells(outputs, [2n ** 64n, 2, -5, null, 0])).toEqual([2 ** 63, -5, null])
  })

  it('give the same results as the accumulators', async () => {
    const queries = await openQueries(TABLES)
    const random = seededRandom('aggregates')
    const maybe = <T>(value: T) => (random() < 0.2 ? null : value)
    const records = Array.from({ length: 60 }, () => {
      const whole = maybe((BigInt(Math.floor(random() * 2 ** 52)) * 1024n).toString())
      const real = maybe(Math.floor(random() * 1000) / 8)
      const text = maybe(TEXTS[Math.floor(random() * TEXTS.length)])
      const moment = maybe(new Date(Math.floor(random() * 1e12)).toISOString())
      return { whole, real, text, moment, plain_whole: whole, plain_real: real, plain_text: text, plain_moment: moment }
    })
    await queries.insert('t', records)
    const list = (prefix: string) =>
      ['sum', 'avg']
        .map((one) => `${one}(${prefix}whole)`)
        .concat(
          ['whole', 'real', 'text', 'moment'].flatMap((name) => ['min', 'max', 'count'].map((one) => `${one}(${prefix}${name})`)),
        )
    const sealed = await queries.query(`SELECT ${list('')} FROM t`)
    queries.forget()
    const plain = await queries.query(`SELECT ${list('plain_')} FROM t`)
    expect(queries.calls.map(({ verb }) => verb)).toEqual(['aggregate'])
    expect(Object.values(plain[0] ?? {})).toEqual(Object.values(sealed[0] ?? {}))
  })
})
