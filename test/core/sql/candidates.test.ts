/** Tests what sealed indexes offer for conditions: keys of every row in which the condition is true, and of no other row if they are exact. */
import { describe, expect, it } from 'vitest'
import { compileCondition } from '../../../src/core/expressions/evaluate-condition.ts'
import {
  EVERY_KEY,
  intersection,
  type KeyRanges,
  otherValues,
  setOf,
  union,
  VALUES,
} from '../../../src/core/index-runs/key-ranges.ts'
import { compareKeys, orderKey } from '../../../src/core/index-runs/order-key.ts'
import { indexKeys, splitKeys } from '../../../src/core/index-runs/trigrams.ts'
import type { Table } from '../../../src/core/schema/layout.ts'
import { candidatesOf } from '../../../src/core/sql/candidates.ts'
import { columnTypes } from '../../../src/core/values/column-types.ts'
import { column } from '../../../src/index.ts'
import { seededRandom } from '../../support/random/seeded-random.ts'
import { drawCondition, drawRow } from '../expressions/random-conditions.ts'
import { COLUMN_TYPES, columnsKept, resolvedCondition, rowOf, tableIn } from '../expressions/sample-table.ts'

const HAS_NO_ORDER = ['JSON', 'ARRAY']
const table = tableIn(
  { sealed: columnsKept((name) => (HAS_NO_ORDER.includes(COLUMN_TYPES[name] ?? '') ? {} : { index: 'sealed' })) },
  'sealed',
)
const LONG = 'a'.repeat(70)

function rowsOf(records: readonly Readonly<Record<string, unknown>>[]): Record<string, unknown>[] {
  return records.map((record) =>
    Object.fromEntries(table.columns.map(({ name, type }) => [name, record[name] == null ? null : type.parse(record[name])])),
  )
}

function isIn(ranges: KeyRanges, key: Uint8Array): boolean {
  return ranges.some(({ low, high }) => compareKeys(low, key) <= 0 && compareKeys(key, high) < 0)
}

/** What is wrong with what the indexes offer for a condition, or undefined. */
function faultOf(text: string, rows: readonly Record<string, unknown>[], offered = candidatesOf): string | undefined {
  const condition = resolvedCondition(table, text)
  const isTrue = compileCondition(condition)
  for (const { column, ranges, isExact } of offered(table, [condition])) {
    for (const row of rows) {
      const wanted = isTrue(rowOf(row)) === true
      const found = isIn(ranges, orderKey(column.type, row[column.name]))
      if (wanted && !found) return `misses a row of ${text} by ${column.name}`
      if (found && !wanted && isExact) return `finds too much for ${text} by ${column.name}`
    }
  }
  return undefined
}

function exactly(condition: string): Record<string, boolean> {
  return Object.fromEntries(
    candidatesOf(table, [resolvedCondition(table, condition)]).map(({ column, isExact }) => [column.name, isExact]),
  )
}

describe('what indexes offer', () => {
  const random = seededRandom('candidates')
  const texts = [LONG, `${LONG}b`, 'a'.repeat(64), 'a'.repeat(63)].map((s) => ({ s }))
  const rows = rowsOf([...Array.from({ length: 80 }, () => drawRow(random)), ...texts])
  const conditions = Array.from(
    { length: 3000 },
    () => drawCondition(random, { ids: ['none'], foldsCase: true, asksKeys: true }).ours,
  )

  it('covers random conditions, and no more where it is exact', () => {
    expect(conditions.flatMap((text) => faultOf(text, rows) ?? [])).toEqual([])
    const offered = conditions.map((text) => candidatesOf(table, [resolvedCondition(table, text)]))
    expect(offered.filter((one) => one.length > 0).length).toBeGreaterThan(300)
    expect(offered.flat().filter(({ isExact }) => isExact).length).toBeGreaterThan(100)
  })

  it('the law finds a range without its lowest key', () => {
    const narrowed = (of: Pick<Table, 'indexed'>, given: Parameters<typeof candidatesOf>[1]) =>
      candidatesOf(of, given).map((one) => ({ ...one, ranges: one.ranges.slice(1) }))
    expect(conditions.some((text) => faultOf(text, rows, narrowed) !== undefined)).toBe(true)
  })

  it.each([
    [`s = '${LONG}'`, { s: false }],
    [`s < '${LONG}'`, { s: false }],
    [`NOT s = '${LONG}'`, { s: false }],
    [`s LIKE '${LONG}%'`, { s: false }],
    ["s LIKE 'ab%'", { s: true }],
    ["s LIKE 'ab'", { s: true }],
    ["s LIKE 'a%b'", { s: false }],
    ["s LIKE 'a_%'", { s: false }],
    ["s LIKE 'a\\%%'", { s: true }],
    ["s LIKE '%b'", { s: false }],
    ["s ILIKE 'ab%'", {}],
    ['i = 1', { i: true }],
    ['i = 1 OR i > 5', { i: true }],
    ['i = 1 AND f > 0', { i: false, f: false }],
    ['i = 1 OR f > 0', {}],
    ['i > 1.5', { i: true }],
    ['f > i', {}],
    ['s IS NULL', { s: true }],
    ['s IS NOT NULL', { s: true }],
    ['i = i2', {}],
  ])('%s', (condition, expected) => {
    expect(exactly(condition)).toEqual(expected)
    expect(faultOf(condition, rows)).toBeUndefined()
  })
})

describe('what an index of parts offers', () => {
  const random = seededRandom('parts of texts')
  const parts = tableIn({ parts: { s: column.string({ index: { sealed: ['order', 'contains'] } }) } }, 'parts')
  const LETTERS = ['a', 'B', 'ß', 'ẞ', 'İ', 'i', 'k', 'K', '\u{212A}', '😀', '😁', '\u0307']
  const draw = (letters: readonly string[], most: number): string =>
    Array.from({ length: random.below(most) }, () => random.pick(letters)).join('')
  const texts = [
    ...Array.from({ length: 150 }, () => draw(LETTERS, 12)),
    'a'.repeat(10_000),
    'ab'.repeat(5001),
    '😀'.repeat(10_001),
  ]
  const patterns = Array.from({ length: 1500 }, () => {
    const text = random.pick(texts.slice(0, 150))
    const [from, to] = [random.below(4), 3 + random.below(6)]
    const piece = [...text]
      .slice(from, from + to)
      .map((point) => (random.chance(0.2) ? random.pick(LETTERS) : point))
      .join('')
    return `s ${random.pick(['LIKE', 'ILIKE'])} '${random.pick(['%', '', '_'])}${piece}${random.pick(['%', '_%', '%b%', ''])}'`
  })

  /** The patterns that some text matches, of which the index does not offer a row. */
  function missed(keysOf: (keys: readonly Uint8Array[]) => readonly Uint8Array[]): string[] {
    const stored = texts.map((text) => keysOf(splitKeys('contains', indexKeys('contains', columnTypes.STRING, text))))
    return patterns.filter((pattern) => {
      const condition = resolvedCondition(parts, pattern)
      const isTrue = compileCondition(condition)
      const offered = candidatesOf(parts, [condition]).filter(({ index }) => index.kind === 'contains')
      return offered.some(({ ranges, others }) =>
        texts.some((s, row) => {
          const isOffered = [ranges, ...others].every((list) => stored[row]?.some((key) => isIn(list, key)))
          return !isOffered && isTrue(rowOf({ s })) === true
        }),
      )
    })
  }

  it('covers what LIKE and ILIKE find, also where folding changes letters', () => {
    expect(missed((keys) => keys)).toEqual([])
    const offered = patterns.map((text) => candidatesOf(parts, [resolvedCondition(parts, text)]))
    expect(offered.flat().filter(({ index }) => index.kind === 'contains').length).toBeGreaterThan(700)
  })

  it('the law finds texts without one of their trigrams', () => {
    expect(missed((keys) => keys.slice(1)).length).toBeGreaterThan(0)
  })

  it.each([
    ["s LIKE '%ab%'", 0],
    ["s LIKE '%abc%'", 1],
    ["s ILIKE '%ABCD'", 2],
    ["s LIKE 'ab_cd'", 0],
    ["s LIKE 'aaaa%'", 1],
    ["s LIKE '%a\\%b%'", 1],
    ["s LIKE '%abc%' AND s LIKE '%xyz%'", 2],
    ["s LIKE '%abc%' OR s LIKE '%xyz%'", 0],
    ["NOT s LIKE '%abc%'", 0],
  ])('%s has %i trigrams', (text, count) => {
    const offered = candidatesOf(parts, [resolvedCondition(parts, text)]).filter(({ index }) => index.kind === 'contains')
    expect(offered.reduce((sum, { others }) => sum + 1 + others.length, 0)).toBe(count)
  })
})

describe('sets of keys', () => {
  const random = seededRandom('sets of keys')
  const keyOf = (value: number) => Uint8Array.of(value)
  const draw = () =>
    union(
      Array.from({ length: random.below(4) }, () => {
        const low = random.below(30)
        return setOf({ low: keyOf(low), high: keyOf(low + random.below(6)) })
      }),
    )

  it('union, intersection and the other values are those of sets', () => {
    for (let round = 0; round < 500; round++) {
      const [one, other] = [draw(), draw()]
      const [all, both, rest] = [union([one, other]), intersection(one, other), otherValues(one)]
      for (let value = 0; value < 40; value++) {
        const key = keyOf(value)
        expect(isIn(all, key)).toBe(isIn(one, key) || isIn(other, key))
        expect(isIn(both, key)).toBe(isIn(one, key) && isIn(other, key))
        expect(isIn(rest, key)).toBe(!isIn(one, key))
      }
      expect(intersection(all, EVERY_KEY)).toEqual(all)
      expect(intersection(otherValues(rest), VALUES)).toEqual(one)
    }
  })
})
