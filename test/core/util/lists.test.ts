/** Indexes and values that must exist. */
import { expect, it } from 'vitest'
import { at, present, required } from '../../../src/core/util/lists.ts'

it('returns the item of an index, null and 0 included', () => {
  expect(at([1, 0, null], 1)).toBe(0)
  expect(at([1, 0, null], 2)).toBeNull()
  expect(at(new Uint32Array([7]), 0)).toBe(7)
  expect(required('x', 'The text')).toBe('x')
})

it.each([
  [[], 0],
  [[1], 1],
  [[1], -1],
  [[undefined], 0],
])('throws internal for %j at %i', (list: unknown[], index) => {
  expect(() => at(list, index)).toThrow(expect.objectContaining({ code: 'internal' }))
})

it('names what is missing', () => {
  expect(() => required(undefined, 'The root key')).toThrow('The root key is missing. This is a defect; please report it.')
})

it('leaves out what is undefined, and nothing else', () => {
  expect(present([undefined, 0, null, undefined, '', false])).toEqual([0, null, '', false])
  expect(present([undefined])).toEqual([])
})

it('returns the list itself if it has no gap', () => {
  const whole = [3, 1, 2]
  expect(present(whole)).toBe(whole)
})
