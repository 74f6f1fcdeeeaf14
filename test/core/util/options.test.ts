/** Strict shapes: what each accepts, what it does not, and that a result is a copy. */
import { describe, expect, it, test } from 'vitest'
import {
  hasOwnNames,
  integer,
  listOf,
  matching,
  objectOf,
  oneOf,
  pairOf,
  type Shape,
  text,
} from '../../../src/core/util/options.ts'

const point = objectOf({ x: integer(0), y: integer(0, 9) }, { label: text })

describe('a shape accepts', () => {
  it.each<readonly [string, Shape<unknown>, unknown]>([
    ['the empty text', text, ''],
    ['text that its pattern matches', matching(/^[a-f]+$/), 'cafe'],
    ['the bounds of an integer', listOf(integer(-1, 1)), [-1, 0, 1]],
    ['the highest integer that is exact', integer(0), Number.MAX_SAFE_INTEGER],
    ['false, if it is one of its values', oneOf([false, 0, '']), false],
    ['an empty list', listOf(text), []],
    ['a pair', pairOf(integer(1)), [1, 2]],
    ['an object with all members', point, { x: 1, y: 2, label: 'a' }],
    ['an object without one that can be absent', point, { x: 1, y: 2 }],
    ['members in any order', point, { label: 'a', y: 2, x: 1 }],
    ['null, if a member accepts it', objectOf({ any: (value: unknown) => value }), { any: null }],
  ])('%s', (_, shape, value) => {
    expect(shape(value)).toEqual(value)
  })
})

describe('a shape rejects', () => {
  it.each<readonly [string, Shape<unknown>, unknown]>([
    ['undefined', text, undefined],
    ['null', text, null],
    ['a text object', text, Object('a')],
    ['text that its pattern does not match', matching(/^[a-f]+$/), 'cafe\n'],
    ['text in place of a number', integer(0), '1'],
    ['decimals', integer(0), 1.5],
    ['a number that is not finite', integer(0), Number.POSITIVE_INFINITY],
    ['an integer that is not exact', integer(0), 2 ** 53],
    ['an integer below its range', integer(1, 3), 0],
    ['an integer above its range', integer(1, 3), 4],
    ['another value', oneOf(['a', 'b']), 'c'],
    ['a value of another type', oneOf([1]), '1'],
    ['an object like a list', listOf(text), { 0: 'a', length: 1 }],
    ['a list with a wrong item', listOf(text), ['a', 1]],
    ['a list with a hole', listOf(text), Array(1)],
    ['a list that is too short', listOf(text, 1), []],
    ['a pair of one', pairOf(integer(0)), [1]],
    ['a pair of three', pairOf(integer(0)), [1, 2, 3]],
    ['a list in place of an object', objectOf({}), []],
    ['a missing member', point, { x: 1 }],
    ['an inherited member', point, Object.create({ x: 1, y: 2 })],
    ['an unknown member', point, { x: 1, y: 2, z: 3 }],
    ['an unknown member that objects inherit', point, JSON.parse('{"x":1,"y":2,"toString":3}')],
    ['a member named __proto__', point, JSON.parse('{"x":1,"y":2,"__proto__":{}}')],
    ['a wrong member', point, { x: 1, y: 10 }],
    ['a member that can be absent and is undefined', point, { x: 1, y: 2, label: undefined }],
  ])('%s', (_, shape, value) => {
    expect(shape(value)).toBeUndefined()
  })
})

it('reads each member once, and returns what it checked', () => {
  let reads = 0
  const changing = {
    get x() {
      reads++
      return reads === 1 ? 1 : -1
    },
    y: 2,
  }
  expect(point(changing)).toEqual({ x: 1, y: 2 })
  expect(reads).toBe(1)
})

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
