/** Names of own members, compared in order. */
import { expect, test } from 'vitest'
import { hasOwnNames } from '../../../src/core/util/own-names.ts'

test('an object has the names of its own members, in their order', () => {
  expect(hasOwnNames({ a: 1, b: undefined }, ['a', 'b'])).toBe(true)
  expect(hasOwnNames({ b: 1, a: 1 }, ['a', 'b'])).toBe(false)
  expect(hasOwnNames({ a: 1 }, ['a', 'b'])).toBe(false)
  expect(hasOwnNames({ a: 1, b: 1, c: 1 }, ['a', 'b'])).toBe(false)
  expect(hasOwnNames({}, [])).toBe(true)
  expect(hasOwnNames(Object.defineProperty({ a: 1 }, 'b', { value: 1 }), ['a', 'b'])).toBe(false)
})

test('inherited members are not counted, wherever they are named', () => {
  expect(hasOwnNames(Object.create({ b: 1 }, { a: { value: 1, enumerable: true } }), ['a', 'b'])).toBe(false)
  expect(hasOwnNames(Object.create({ b: 1 }, { a: { value: 1, enumerable: true } }), ['a'])).toBe(true)
  expect(hasOwnNames(new Proxy({ a: 1, b: 1 }, {}), ['a', 'b'])).toBe(true)
})
