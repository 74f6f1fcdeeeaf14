/** JSON and ARRAY: accepted data, and the canonical text of values. */
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { ByteWriter } from '../../../src/core/util/bytes.ts'
import type { JsonValue } from '../../../src/core/values/column-type.ts'
import { arrayType, jsonCanonical, jsonType } from '../../../src/core/values/json-types.ts'
import { outcomeOf, readableOf, takenOf } from '../../support/column-types/cases.ts'

describe('JSON', () => {
  it('is copied, so that later changes of the input have no effect', () => {
    const given = { list: [1, { a: 'x' }] }
    const value = jsonType.parse(given)
    given.list.push(2)
    expect(value).toStrictEqual({ list: [1, { a: 'x' }] })
  })

  it('accepts text, numbers, booleans, inner nulls, objects without a prototype and of another realm', () => {
    const values = ['', 0, false, [null], {}, Object.assign(Object.create(null), { a: 1 }), runInNewContext('({ a: [1] })')]
    expect(takenOf(jsonType, values)).toHaveLength(values.length)
  })

  it('rejects null as the whole value', () => {
    expect(outcomeOf(() => jsonType.parse(null))).toContain('other than null')
    expect(outcomeOf(() => jsonType.fromText('null'))).toContain('other than null')
  })

  it('keeps a member named __proto__ as data and pollutes no prototype', () => {
    const value = jsonType.parse(JSON.parse('{"__proto__":{"polluted":true}}'))
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(Object.keys(value as object)).toEqual(['__proto__']) // A JSON object by construction.
    expect(jsonType.toText(value)).toBe('{"__proto__":{"polluted":true}}')
    expect({}).not.toHaveProperty('polluted')
  })

  it('does not call toJSON', () => {
    expect(takenOf(jsonType, [{ toJSON: () => 'x' }, new Date(0)])).toEqual([])
    expect(jsonType.parse({ toJSON: 'a member like any other' })).toEqual({ toJSON: 'a member like any other' })
  })

  it('rejects more than 64 levels and more than 10,000 values', () => {
    const nested = (levels: number): unknown => Array.from({ length: levels }).reduce((inner: unknown) => [inner], 1)
    expect(outcomeOf(() => jsonType.parse(nested(64)))).not.toContain('fault')
    expect(outcomeOf(() => jsonType.parse(nested(65)))).toBe('fault: must be nested at most 64 deep')
    expect(takenOf(jsonType, [new Array(9_999).fill(0)])).toHaveLength(1)
    expect(outcomeOf(() => jsonType.parse(new Array(10_000).fill(0)))).toBe(
      'fault: must have at most 10000 members at all levels: split it, or raise limits.maxJsonMembers',
    )
  })

  it('rejects numbers that JSON cannot hold, in text too', () => {
    expect(readableOf(jsonType, ['1e400', '[-1e400]', '{"a":1', '', 'x', "{'a':1}", '"\\ud800"', '1'])).toEqual(['1'])
  })
})

it('ARRAY accepts only lists, with nulls and lists inside', () => {
  expect(takenOf(arrayType, [[], [null], [[1], 'a'], {}, 'a', 1, null, new Set(), new Uint8Array(1)])).toEqual([
    [],
    [null],
    [[1], 'a'],
  ])
  expect(readableOf(arrayType, ['[]', '[1,{"a":null}]', '{}', 'a,b', '[1'])).toEqual(['[]', '[1,{"a":null}]'])
})

describe('canonical JSON', () => {
  // The worked examples of RFC 8785, section 3.2 and appendix B.
  it.each<[given: string, text: string]>([
    [
      '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}',
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    ],
    [
      '{"\\u20ac":"Euro Sign","\\r":"Carriage Return","\\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\\ud83d\\ude00":"Emoji: Grinning Face","\\u0080":"Control","\\u00f6":"Latin Small Letter O With Diaeresis"}',
      '{"\\r":"Carriage Return","1":"One","\u0080":"Control","ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign","😀":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
    ],
    [
      '[-0, 5e-324, 1.7976931348623157e308, 9007199254740992, 1e21, 1e23, 0.000001, 9.999999999999997e-7]',
      '[0,5e-324,1.7976931348623157e+308,9007199254740992,1e+21,1e+23,0.000001,9.999999999999997e-7]',
    ],
    ['{"b":[{"d":1,"c":2}],"a":{}}', '{"a":{},"b":[{"c":2,"d":1}]}'],
  ])('writes %s as RFC 8785 does', (given, text) => {
    const value: JsonValue = JSON.parse(given)
    expect(jsonCanonical(value)).toBe(text)
  })
})

it('JSON and ARRAY are equal by Unicode NFC, in texts and in names of members, and stay as they are written', () => {
  const [composed, decomposed] = ['Zo\u00eb', 'Zoe\u0308']
  const bytesOf = (type: typeof jsonType | typeof arrayType, value: JsonValue): Uint8Array => {
    const out = new ByteWriter(64)
    type.canonical(value as never, out)
    return out.written()
  }
  const pairs = [
    [jsonType, composed, decomposed],
    [jsonType, { b: composed, [composed]: 1 }, { [decomposed]: 1, b: decomposed }],
    [arrayType, [composed, [composed]], [decomposed, [decomposed]]],
  ] as const
  for (const [type, one, other] of pairs) {
    expect(bytesOf(type, one)).toEqual(bytesOf(type, other))
    expect(type.toText(other as never)).toBe(jsonCanonical(other))
    expect(bytesOf(type, one)).not.toEqual(bytesOf(type, JSON.parse(JSON.stringify(one).replaceAll('\u00eb', 'e'))))
  }
})
