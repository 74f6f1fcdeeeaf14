/** STRING: accepted text, order and equality. */
import { expect, it } from 'vitest'
import { ByteWriter } from '../../../src/core/util/bytes.ts'
import { compareCodePoints, stringType } from '../../../src/core/values/string-type.ts'
import { takenOf } from '../../support/column-types/cases.ts'

it('accepts any well-formed text unchanged, also empty, with NUL and beyond the first plane', () => {
  const texts = ['', ' ', '\u0000', 'a\u0000b', '𝒳', '\ufeff', '\uffff', 'é', 'é']
  expect(texts.map((text) => stringType.parse(text))).toEqual(texts)
})

it('rejects lone surrogates at any position', () => {
  expect(takenOf(stringType, ['\ud800', '\udfff', 'a\ud83d', '\ude00a', '\ude00\ud83d', '\ud83d\ud83d\ude00'])).toEqual([])
})

it('rejects everything that is not text', () => {
  expect(takenOf(stringType, [1, true, 1n, ['a'], { a: 1 }, new String('a'), undefined])).toEqual([])
})

it('orders text by code point, not by UTF-16 unit', () => {
  const ordered = [
    '',
    'A',
    'a',
    'aa',
    'b',
    'é',
    '\ud7ff',
    '\ue000',
    '\uffff',
    '\u{10000}',
    '\u{10000}a',
    '\u{10001}',
    '\u{10ffff}',
  ]
  expect([...ordered].reverse().sort(compareCodePoints)).toEqual(ordered)
})

it('keeps the form of stored text, while equality is by Unicode NFC', () => {
  const [composed, decomposed] = ['Zo\u00eb', 'Zoe\u0308']
  expect(stringType.parse(decomposed)).toBe(decomposed)
  expect(canonical(composed)).toEqual(canonical(decomposed))
  expect(canonical('ﬁ')).not.toEqual(canonical('fi'))
})

function canonical(text: string): Uint8Array {
  const out = new ByteWriter()
  stringType.canonical(text, out)
  return out.written()
}
