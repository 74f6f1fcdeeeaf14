/** Other spellings of a value, for each type: recognized, and not confused with other values. */
import { describe, expect, it } from 'vitest'
import type { ColumnTypeName } from '../../../src/core/values/column-type.ts'
import { columnTypes } from '../../../src/core/values/column-types.ts'

/** A type, the text of a value, other spellings of it, and other texts. */
const CASES: readonly (readonly [ColumnTypeName, string, readonly string[], readonly string[]])[] = [
  [
    'STRING',
    'Zoë Ström',
    ['zoë ström', 'ZOE\u0308 STRO\u0308M', ' Zoë Ström\n', 'Ｚｏë Ström'],
    ['Zoe Strom', 'Zoë', 'Zoë  Ström'],
  ],
  ['STRING', '0123', ['０１２３', '٠١٢٣', '0123 '], ['123', '0123.0']],
  [
    'INTEGER',
    '100',
    ['+100', '0100', '100.0', '1e2', '1E+02', ' 100', '1_00', '１００', '١٠٠', '𝟙𝟘𝟘'],
    ['-100', '10', '1000', '1e3', 'one'],
  ],
  ['INTEGER', '0', ['00', '-0', '0.0', '+0e5'], ['1', '', '.']],
  [
    'INTEGER',
    '-9007199254740993',
    ['-9,007,199,254,740,993', '-09007199254740993.00'],
    ['-9007199254740992', '9007199254740993'],
  ],
  ['FLOAT', '1.5', ['1.50', '01.5', '15e-1', '+1.5'], ['1.05', '15', '1.5.0']],
  ['FLOAT', '1e+21', ['1000000000000000000000', '1E21'], ['1e22']],
  ['BOOL', 'true', ['TRUE', 'True', ' true', 't', 'yes', '1'], ['false', '0', '2']],
  [
    'DATE',
    '2026-01-31',
    ['2026/1/31', '20260131', '31.01.2026', '1/31/2026', '٢٠٢٦-٠١-٣١', '2026-01-31T00:00:00Z'],
    ['2026-01-13', '2026-01', '2026-10-31'],
  ],
  ['TIME', '06:30:00', ['06:30', '6:30', '063000', '06:30:00.000'], ['06:31', '16:30']],
  [
    'DATETIME',
    '2026-01-31T06:00:00Z',
    ['2026-01-31t08:00:00+02:00', '2026-01-31 06:00:00Z', '20260131T060000Z', '२०२६-०१-३१T०६:००:००Z'],
    ['2026-01-31T07:00:00Z'],
  ],
  ['JSON', '{"a":"É","b":[1]}', ['{ "b": [1.0], "a": "E\u0301" }', '{"b":[1],"a":"é"}'], ['{"a":"E","b":[1]}', '[1]']],
  ['ARRAY', '[1,"x"]', ['[ 1, "X" ]'], ['["x",1]']],
]

describe.each(CASES)('%s %s', (name, text, spellings, others) => {
  const type = columnTypes[name]
  const value = type.fromText(text)

  it.each([text, ...spellings])('is spelled by %j', (spelling) => {
    expect(type.isSpelledBy(value, spelling)).toBe(true)
  })

  it.each(others)('is not spelled by %j', (other) => {
    expect(type.isSpelledBy(value, other)).toBe(false)
  })
})
