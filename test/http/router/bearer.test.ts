/** Which Authorization headers have a credential. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { bearerOf } from '../../../src/http/router/bearer.ts'

it.each([
  ['Bearer abc', 'abc'],
  ['bearer abc', 'abc'],
  ['BEARER abc', 'abc'],
  ['Bearer  abc', 'abc'],
  ['Bearer a.b-c_d~e+f/g==', 'a.b-c_d~e+f/g=='],
  [`Bearer ${'a'.repeat(8192)}`, 'a'.repeat(8192)],
])('%j has one', (header, credential) => {
  expect(bearerOf(header)).toBe(credential)
})

it.each([
  undefined,
  '',
  'Bearer',
  'Bearer ',
  'Bearerabc',
  'Bearer\tabc',
  ' Bearer abc',
  'Bearer abc ',
  'Bearer abc def',
  'Bearer abc, Bearer def',
  'Bearer abc,def',
  'Basic abc',
  'Token abc',
  'Bearer ab\u0000c',
  'Bearer ab\u007fc',
  'Bearer abcé',
  'Bearer abc\n',
  'Bearer abc\r\nx: y',
  'Bearer: abc',
  `Bearer ${'a'.repeat(8193)}`,
])('%j has none', (header) => {
  expect(bearerOf(header)).toBeUndefined()
})

it('any text has a credential of 1 to 8,192 visible characters, or none', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.string().map((text) => `Bearer ${text}`),
      ),
      (header) => {
        const credential = bearerOf(header)
        expect(credential === undefined || /^[!-+\--~]{1,8192}$/.test(credential)).toBe(true)
      },
    ),
  )
})
