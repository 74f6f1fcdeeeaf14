/** Order keys of edges: what the law of column types draws too seldom. */
import { expect, it } from 'vitest'
import { compareKeys, keysThat, MAX_KEY_BYTES, NULL_KEY, orderKey, valueOfKey } from '../../../src/core/index-runs/order-key.ts'
import { columnTypes } from '../../../src/core/values/column-types.ts'

const { STRING, INTEGER, FLOAT, BOOL, TIME, DATETIME, JSON: json } = columnTypes

it('numbers, times and instants of any size order by their keys and are read back', () => {
  const values = [
    [INTEGER, [-(2n ** 63n), -(2n ** 53n), -(2 ** 53 - 1), -256, -1, 0, 1, 255, 256, 2 ** 32, 2n ** 53n, 2n ** 63n - 1n]],
    [FLOAT, [-Number.MAX_VALUE, -1.5, -1, -Number.MIN_VALUE, 0, Number.MIN_VALUE, 1, 1.5, Number.MAX_VALUE]],
    [BOOL, [false, true]],
    [STRING, ['', 'a', 'a\u0000', 'ab', 'é', '\ue000', '𝒳']],
    [TIME, ['00:00:00', '00:00:00.000000001', '12:30:00.5', '23:59:59.999999999']],
    [DATETIME, ['0001-01-01T00:00:00Z', '1969-12-31T23:59:59.9Z', '1970-01-01T00:00:00Z', '9999-12-31T23:59:59.999999999Z']],
  ] as const
  for (const [type, list] of values) {
    const keys = [...list.map((value) => orderKey(type, value)), NULL_KEY]
    for (const [i, key] of keys.entries())
      for (const [j, other] of keys.entries())
        expect([type.name, i, j, Math.sign(compareKeys(key, other))]).toEqual([type.name, i, j, Math.sign(i - j)])
    expect(list.map((value) => valueOfKey(type, orderKey(type, value)))).toEqual(list)
  }
})

it('the key of a long text is its first bytes, also where they end inside of a character', () => {
  const start = 'a'.repeat(MAX_KEY_BYTES - 1)
  for (const text of [`${start}𝒳`, `${start}é`, `${start}b${'c'.repeat(10_000)}`]) {
    const bytes = new TextEncoder().encode(text).slice(0, MAX_KEY_BYTES)
    expect(orderKey(STRING, text)).toEqual(bytes)
    expect(keysThat('=', STRING, text).isExact).toBe(false)
  }
  expect(keysThat('=', STRING, start).isExact).toBe(true)
})

it('a type whose values have no order has no keys', () => {
  expect(() => orderKey(json, { a: 1 })).toThrow('Values of JSON have no order keys')
})
