/** Values of a column as those of the column that takes its place: the same meaning, or refused. */
import { describe, expect, it } from 'vitest'
import type { ColumnDefinition } from '../../../src/core/schema/column.ts'
import {
  CONVERTER_NAMES,
  type ConverterName,
  converterOf,
  possibleConverters,
  widening,
} from '../../../src/core/schema/converters.ts'
import { ValueError } from '../../../src/core/values/column-type.ts'
import { COLUMN_TYPES, columnTypes } from '../../../src/core/values/column-types.ts'

const of = (type: keyof typeof columnTypes): ColumnDefinition => (type === 'DECIMAL' ? { type, scale: 2 } : { type })

/** Values as callers write them, what they become, and undefined for those that are refused. */
const CONVERSIONS: readonly (readonly [
  from: keyof typeof columnTypes,
  to: keyof typeof columnTypes,
  name: ConverterName,
  pairs: readonly (readonly [unknown, unknown])[],
])[] = [
  [
    'INTEGER',
    'STRING',
    'toText',
    [
      [-7, '-7'],
      [2n ** 63n - 1n, '9223372036854775807'],
    ],
  ],
  [
    'FLOAT',
    'STRING',
    'toText',
    [
      [0.1, '0.1'],
      [1e21, '1e+21'],
    ],
  ],
  [
    'BOOL',
    'STRING',
    'toText',
    [
      [true, 'true'],
      [false, 'false'],
    ],
  ],
  ['DATE', 'STRING', 'toText', [['2024-02-29', '2024-02-29']]],
  ['TIME', 'STRING', 'toText', [['23:59:59.50', '23:59:59.5']]],
  ['DATETIME', 'STRING', 'toText', [['2024-02-29T01:00:00+01:00', '2024-02-29T00:00:00Z']]],
  [
    'INTEGER',
    'FLOAT',
    'toFloat',
    [
      [5, 5],
      [2n ** 53n, 2 ** 53],
      [2n ** 53n + 1n, undefined],
      [2n ** 62n, 2 ** 62],
    ],
  ],
  [
    'STRING',
    'FLOAT',
    'toFloat',
    [
      ['1.5', 1.5],
      ['1e3', 1000],
      ['', undefined],
      [' 1', undefined],
      ['Infinity', undefined],
    ],
  ],
  [
    'STRING',
    'INTEGER',
    'toInteger',
    [
      ['12', 12],
      ['-0', 0],
      ['012', undefined],
      ['1.0', undefined],
      ['', undefined],
    ],
  ],
  [
    'FLOAT',
    'INTEGER',
    'toInteger',
    [
      [3, 3],
      [-3, -3],
      [1.5, undefined],
      [1e21, undefined],
    ],
  ],
  [
    'STRING',
    'BOOL',
    'toBoolean',
    [
      ['true', true],
      ['TRUE', undefined],
      ['1', undefined],
    ],
  ],
  [
    'STRING',
    'DATE',
    'toDate',
    [
      ['2024-02-29', '2024-02-29'],
      ['2023-02-29', undefined],
    ],
  ],
  [
    'DATETIME',
    'DATE',
    'toDate',
    [
      ['2024-02-29T00:00:00Z', '2024-02-29'],
      ['2024-02-29T00:00:01Z', undefined],
    ],
  ],
  [
    'STRING',
    'TIME',
    'toTime',
    [
      ['12:30:00', '12:30:00'],
      ['12:30', undefined],
    ],
  ],
  ['DATE', 'DATETIME', 'toDatetime', [['2024-02-29', '2024-02-29T00:00:00Z']]],
  [
    'STRING',
    'DATETIME',
    'toDatetime',
    [
      ['2024-02-29', '2024-02-29T00:00:00Z'],
      ['2024-02-29T01:00:00+01:00', '2024-02-29T00:00:00Z'],
      ['noon', undefined],
    ],
  ],
]

describe('converters', () => {
  for (const [from, to, name, pairs] of CONVERSIONS) {
    it(`${name} makes ${to} of ${from}, or refuses`, () => {
      expect(possibleConverters(of(from), of(to))).toEqual([name])
      const convert = converterOf(of(from), of(to), name)
      for (const [given, expected] of pairs) {
        const value = columnTypes[from].parse(given)
        if (expected === undefined) expect(() => convert(value)).toThrow(ValueError)
        else expect(convert(value)).toEqual(columnTypes[to].parse(expected))
      }
      expect(convert(null)).toBe(null)
      expect(convert(undefined)).toBe(undefined)
    })
  }

  it('the list above has every converter with each of its types', () => {
    const listed = CONVERSIONS.map(([from, to]) => `${from} ${to}`).sort()
    const possible = COLUMN_TYPES.flatMap((from) =>
      COLUMN_TYPES.flatMap((to) => (possibleConverters(of(from), of(to)).length > 0 ? [`${from} ${to}`] : [])),
    )
    expect(listed).toEqual(possible.sort())
    expect(CONVERTER_NAMES.toSorted()).toEqual([...new Set(CONVERSIONS.map(([, , name]) => name))].sort())
  })

  it('only what every value can become needs no name', () => {
    const wide = COLUMN_TYPES.flatMap((from) =>
      COLUMN_TYPES.flatMap((to) => (widening(of(from), of(to)) ? [`${from} ${to}`] : [])),
    )
    expect(wide).toEqual([
      'INTEGER STRING',
      'INTEGER FLOAT',
      'FLOAT STRING',
      'BOOL STRING',
      'DATE STRING',
      'DATE DATETIME',
      'TIME STRING',
      'DATETIME STRING',
    ])
  })

  it('a column of the same type keeps its values', () => {
    const value = { any: 'thing' }
    expect(converterOf(of('JSON'), of('JSON'), undefined)(value)).toBe(value)
  })
})
