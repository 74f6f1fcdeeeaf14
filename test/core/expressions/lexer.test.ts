/** Tests splitting a text into lexemes. */
import { describe, expect, it } from 'vitest'
import { LanguageError, lineAndColumn } from '../../../src/core/expressions/language-error.ts'
import { lex } from '../../../src/core/expressions/lexer.ts'
import { MAX_LEXEMES, MAX_QUERY_LENGTH } from '../../../src/core/limits.ts'

function cut(text: string): readonly string[] {
  return lex(text).map(({ kind, text: piece }) => `${kind} ${piece}`)
}

function faultOf(text: string): LanguageError {
  try {
    lex(text)
  } catch (fault) {
    if (fault instanceof LanguageError) return fault
  }
  throw new Error('no fault')
}

describe('a text', () => {
  it('is split into lower-case words, quoted names, strings, numbers and symbols', () => {
    expect(cut(`SELECT "A b", 'it''s' FROM T1_x WHERE .5>=1e3`)).toEqual([
      ...['word select', 'quoted A b', 'symbol ,', "text it's", 'word from', 'word t1_x', 'word where'],
      ...['number .5', 'symbol >=', 'number 1e3', 'end '],
    ])
  })

  it('keeps the offset of every lexeme', () => {
    expect(lex('a /* 🦆 */ = "b"\n;').map(({ at }) => at)).toEqual([0, 11, 13, 17, 18])
  })

  it('drops blanks and comments, also nested comments', () => {
    expect(cut('a-- x\nb\r\n\t\f\vc/* /* */ */d--')).toEqual(['word a', 'word b', 'word c', 'word d', 'end '])
  })

  it.each(['', ' ', '--', '/**/', '-- \n'])('without lexemes gives only end: %j', (text) => {
    expect(cut(text)).toEqual(['end '])
  })

  it('reads doubled quotes inside quotes as one', () => {
    expect(cut(`'' '''' 'a''''b' """" "a""b"`)).toEqual(['text ', "text '", "text a''b", 'quoted "', 'quoted a"b', 'end '])
  })

  it('reads numbers as PostgreSQL does', () => {
    expect(cut('1 1. .5 1.5 1e3 1.e-3 .5E+2 007')).toEqual([
      ...['1', '1.', '.5', '1.5', '1e3', '1.e-3', '.5E+2', '007'].map((number) => `number ${number}`),
      'end ',
    ])
  })

  it('reads consecutive operator characters as one operator, up to a comment and without the sign of a number', () => {
    expect(cut('a<>b a<-1 a=+1 a=--1\n1 <*/* c */a ?-1 ::')).toEqual([
      ...[
        'word a',
        'symbol <>',
        'word b',
        'word a',
        'symbol <',
        'symbol -',
        'number 1',
        'word a',
        'symbol =',
        'symbol +',
        'number 1',
      ],
      ...['word a', 'symbol =', 'number 1', 'symbol <*', 'word a', 'symbol ?-', 'number 1', 'symbol ::', 'end '],
    ])
  })
})

describe('an error', () => {
  it.each([
    ["a = 'x", 4],
    ['"', 0],
    ["'''", 0],
    ['a /* /* */', 2],
    ['a = 1a', 4],
    ['a = 0x1F', 4],
    ['a = 1_000', 4],
    ['a\u00a0', 1],
    ['a \0', 2],
    ['{', 0],
    ['a \\', 2],
    ['é', 0],
    ['a 🦆', 2],
  ])('of syntax has its offset: %j at %i', (text, at) => {
    expect(faultOf(text)).toMatchObject({ kind: 'syntax', at })
  })

  it('of length is thrown before splitting', () => {
    expect(lex(' '.repeat(MAX_QUERY_LENGTH))).toHaveLength(1)
    expect(faultOf("'".repeat(MAX_QUERY_LENGTH + 1))).toMatchObject({ kind: 'limit', at: 0 })
  })

  it('of too many lexemes has the offset of the first one above the limit', () => {
    expect(lex(','.repeat(MAX_LEXEMES))).toHaveLength(MAX_LEXEMES + 1)
    expect(faultOf(','.repeat(MAX_LEXEMES + 1))).toMatchObject({ kind: 'limit', at: MAX_LEXEMES })
  })

  it('has a line and a column for every kind of line end', () => {
    const text = 'a\nb\r\nc\rd {'
    expect(lineAndColumn(text, faultOf(text).at)).toEqual({ line: 4, column: 3 })
  })
})
