/** STRING: what text is taken, compared and equated. */
import { expect, test } from 'vitest'
import { ByteWriter } from '../../../src/core/util/bytes.ts'
import { compareCodePoints, stringType } from '../../../src/core/values/string-type.ts'
import { takenOf } from '../../support/column-types/cases.ts'

test('any well-formed text is taken as it is, empty, with NUL and beyond the first plane too', () => {
  const texts = ['', ' ', '\u0000', 'a\u0000b', '𝒳', '\ufeff', '\uffff', 'é', 'é']
  expect(texts.map((text) => stringType.parse(text))).toEqual(texts)
})

test('lone surrogates are refused wherever they stand', () => {
  expect(takenOf(stringType, ['\ud800', '\udfff', 'a\ud83d', '\ude00a', '\ude00\ud83d', '\ud83d\ud83d\ude00'])).toEqual([])
})

test('nothing but text is text', () => {
  expect(takenOf(stringType, [1, true, 1n, ['a'], { a: 1 }, new String('a'), undefined])).toEqual([])
})

test('texts order by code point, not by UTF-16 unit', () => {
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

test('the stored text keeps its form while equality is by Unicode NFC', () => {
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
