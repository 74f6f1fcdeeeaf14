/** The law of column types, and a type that breaks each of its properties. */
import { describe, expect, it } from 'vitest'
import type { ColumnTypeName } from '../../src/core/values/column-type.ts'
import { type AnyColumnType, columnTypes } from '../../src/core/values/column-types.ts'
import { columnTypeProperties, columnTypesLaw } from '../laws/column-types.ts'
import { columnTypeSamples } from '../support/column-types/samples.ts'
import { itHolds } from '../support/laws/it-holds.ts'

const RUNS = { seed: 20_260_131, numRuns: 1000 }

const names = Object.keys(columnTypes) as ColumnTypeName[] // Object.keys widens to string; the registry's type says which.

itHolds(columnTypesLaw)

describe('the registry', () => {
  it('lists each type under its name, with a tag that never changes', () => {
    expect(names.map((name) => columnTypes[name].name)).toEqual(names)
    const tags = { STRING: 1, INTEGER: 2, FLOAT: 3, BOOL: 4, DATE: 5, TIME: 6, DATETIME: 7, JSON: 8, ARRAY: 9, DECIMAL: 32 }
    expect(Object.fromEntries(names.map((name) => [name, columnTypes[name].tag]))).toMatchObject(tags)
    expect(new Set(names.map((name) => columnTypes[name].tag)).size).toBe(names.length)
  })

  it('has samples for every type', () => {
    expect(Object.keys(columnTypeSamples).sort()).toEqual([...names].sort())
  })
})

/** A property, the type that is broken, and how. */
const BROKEN: readonly (readonly [property: string, name: ColumnTypeName, fault: Partial<AnyColumnType>])[] = [
  ['reads back what it wrote, at any offset', 'STRING', { read: (bytes, _start, end) => columnTypes.STRING.read(bytes, 0, end) }],
  [
    'writes one value in one canonical form, for every spelling of the input',
    'STRING',
    { canonical: (value, out) => columnTypes.STRING.write(value, out) },
  ],
  [
    'has equal canonical bytes only for equal values, even for values that are nearly equal',
    'TIME',
    { canonical: (value, out) => out.utf8(columnTypes.TIME.toText(value).slice(0, 8)) },
  ],
  ['reads the same value back from a cell of its physical type', 'INTEGER', { fromCell: (cell) => Number(cell) }],
  [
    'orders cells as it orders values, by time or by number',
    'DATETIME',
    { toCell: (value) => columnTypes.DATETIME.toText(value) },
  ],
  [
    'has order keys that compare as values do, but for texts that are cut, and reads values back from them',
    'DATETIME',
    {
      canonical: (value, out) =>
        columnTypes.DATETIME.canonical(columnTypes.DATETIME.fromText(`${columnTypes.DATETIME.toText(value).slice(0, 19)}Z`), out),
    },
  ],
  ['reads its own text and its own JSON as the same value', 'INTEGER', { toText: (value) => Number(value).toString() }],
  [
    'reads random text as a stable value, or rejects it with an error that does not quote it',
    'JSON',
    { fromText: (text) => JSON.parse(text) },
  ],
  [
    'rejects hostile input with an error that does not quote it, or reads it as plain data, and changes none',
    'STRING',
    { parse: (input) => String(input) },
  ],
]

describe('a property', () => {
  it.each(BROKEN)('"%s" fails for a broken %s', (property, name, fault) => {
    const holds = columnTypeProperties[property]
    expect(holds).toBeDefined()
    expect(() => holds?.({ ...columnTypes[name], ...fault }, columnTypeSamples[name], RUNS)).toThrow()
  })

  it('has at least one type that breaks it', () => {
    expect(BROKEN.map(([property]) => property)).toEqual(Object.keys(columnTypeProperties))
  })
})
