/** What a ctx claim means. */
import { expect, it } from 'vitest'
import { readClaimContext } from '../../../src/http/credentials/claim-context.ts'

it.each([
  ['text is the id', '"c1"', { context: { id: 'c1' }, bearerTokenContextID: 'c1' }],
  [
    'an object has the attributes',
    '{"id":"c1","a":"x","b":true,"c":1.5,"d":-7}',
    { context: { id: 'c1', a: 'x', b: true, c: 1.5, d: -7 }, bearerTokenContextID: 'c1' },
  ],
  ['an object without an id', '{"a":"x"}', { context: { a: 'x' } }],
  ['an id that is a number', '{"id":7}', { context: { id: 7 }, bearerTokenContextID: '7' }],
  ['an empty id', '{"id":""}', { context: { id: '' } }],
  ['an id with a line break, which no event has', '{"id":"a\\nb"}', { context: { id: 'a\nb' } }],
  ['nested, list and null members are absent', '{"a":{"b":1},"c":[1],"d":null,"e":"x"}', { context: { e: 'x' } }],
  [
    'numbers that JSON rounds are absent',
    '{"a":9007199254740993,"b":1e400,"c":1e21,"d":9007199254740991}',
    { context: { d: 9007199254740991 } },
  ],
  ['text with half of a character is absent', '{"a":"\\ud800","b":"\\ud83d\\ude00"}', { context: { b: '😀' } }],
  ['the prototype is no member', '{"__proto__":"x","constructor":"y"}', { context: { constructor: 'y' } }],
  ['empty text is absent', '""', {}],
  ['an empty object is absent', '{}', {}],
  ['a list is absent', '["c1"]', {}],
  ['null is absent', 'null', {}],
  ['a number is absent', '7', {}],
  ['a boolean is absent', 'true', {}],
])('%s', (_what, claim, expected) => {
  expect(readClaimContext(JSON.parse(claim))).toEqual(expected)
})

it('no claim is absent', () => {
  expect(readClaimContext(undefined)).toEqual({})
})
