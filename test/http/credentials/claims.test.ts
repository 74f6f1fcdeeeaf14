/** What a ctx claim means. */
import { expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/index.ts'
import { readClaimContext } from '../../../src/http/credentials/claims.ts'
import { OWNER, openPeople } from '../../support/vaults/test-vault.ts'

const nested = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
const long = (values: number) => `{"a":[${Array(values).fill(0).join()}]}`

it.each([
  ['text is the id', '"c1"', { context: { id: 'c1' }, bearerTokenContextID: 'c1' }],
  [
    'an object is the context',
    '{"id":"c1","a":"😀","b":true,"c":1.5,"d":-7}',
    { context: { id: 'c1', a: '😀', b: true, c: 1.5, d: -7 }, bearerTokenContextID: 'c1' },
  ],
  ['nested, list and null members are kept', '{"a":{"b":[1]},"c":[],"d":null}', { context: { a: { b: [1] }, c: [], d: null } }],
  ['an id that is a number', '{"id":7}', { context: { id: 7 }, bearerTokenContextID: '7' }],
  ['an id that is nested', '{"id":["c1"]}', { context: { id: ['c1'] } }],
  ['an empty id', '{"id":""}', { context: { id: '' } }],
  ['an id with a line break, which no event has', '{"id":"a\\nb"}', { context: { id: 'a\nb' } }],
  ['the largest exact integer', '{"a":9007199254740991}', { context: { a: 9007199254740991 } }],
  ['empty text is as no claim', '""', {}],
  ['null is as no claim', 'null', {}],
  ['an empty object', '{}', { context: {} }],
])('%s', (_what, claim, expected) => {
  expect(readClaimContext(JSON.parse(claim))).toEqual(expected)
})

it('no claim is no context', () => {
  expect(readClaimContext(undefined)).toEqual({})
})

it.each([
  ['a list', '["c1"]'],
  ['a number', '7'],
  ['a boolean', 'true'],
  ['an integer that JSON rounds', '{"a":9007199254740993}'],
  ['a nested one', '{"a":[{"b":-9007199254740993}]}'],
  ['a number without end', '{"a":1e400}'],
  ['text with half of a character', '{"a":"\\ud800"}'],
  ['text with half of a character as the id', '"\\ud800"'],
  ['the prototype as a member', '{"__proto__":"x"}'],
  ['nine levels', nested(9)],
  ['more than 1,000 values', long(999)],
])('%s is refused', (_what, claim) => {
  expect(readClaimContext(JSON.parse(claim))).toBeUndefined()
})

it('every context that is read is one of a caller, at the limits too', async () => {
  const vault = await openPeople(memoryStorage())
  for (const claim of ['"c1"', '{}', '{"a":{"b":[1]},"c":[],"d":null,"constructor":"x"}', nested(8), long(998)]) {
    const context = readClaimContext(JSON.parse(claim))?.context ?? 'no context'
    // A text is no context, and would be refused.
    vault.as({ ...OWNER, context: context as Record<string, string> })
  }
  await vault.close()
})
