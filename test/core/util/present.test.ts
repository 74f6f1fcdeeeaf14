/** Lists with gaps. */
import { expect, it } from 'vitest'
import { present } from '../../../src/core/util/present.ts'

it('leaves out what is undefined, and nothing else', () => {
  expect(present([undefined, 0, null, undefined, '', false])).toEqual([0, null, '', false])
  expect(present([undefined])).toEqual([])
})

it('returns the list itself if it has no gap', () => {
  const whole = [3, 1, 2]
  expect(present(whole)).toBe(whole)
})
