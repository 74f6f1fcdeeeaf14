/** The Range header: one range of bytes, or the whole file. */
import { expect, it } from 'vitest'
import { parseRange } from '../../../src/http/routes/ticket-routes.ts'

const MAX = Number.MAX_SAFE_INTEGER

it.each([
  ['bytes=0-0', { start: 0, end: 1 }],
  ['bytes=5-9', { start: 5, end: 10 }],
  ['Bytes= 5-9 ', { start: 5, end: 10 }],
  ['bytes=5-', { start: 5 }],
  ['bytes=-5', { last: 5 }],
  ['bytes=-0', { last: 0 }],
  ['bytes=-99999999999999999999', { last: MAX }],
  ['bytes=3-99999999999999999999', { start: 3 }],
  ['bytes=99999999999999999999-', { start: MAX }],
])('reads %s', (header, range) => {
  expect(parseRange(header, undefined)).toEqual(range)
})

it.each([
  undefined,
  '',
  'bytes',
  'bytes=',
  'bytes=-',
  'bytes=9-5',
  'bytes=0-1,3-4',
  'bytes=a-b',
  'items=0-1',
  'bytes=0x1-2',
  'bytes 0-1/2',
])('takes %s for the whole file', (header) => {
  expect(parseRange(header, undefined)).toBeUndefined()
})

it('takes a range with If-Range for the whole file, because no validator can match', () => {
  expect(parseRange('bytes=0-1', '"tag"')).toBeUndefined()
})
