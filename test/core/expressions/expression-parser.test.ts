/** Tests parsing conditions, alone and inside other languages. */
import { describe, expect, it } from 'vitest'
import { parseExpression } from '../../../src/core/expressions/expression-parser.ts'
import { LanguageError } from '../../../src/core/expressions/language-error.ts'
import { LexemeCursor } from '../../../src/core/expressions/lexeme-cursor.ts'
import { nameProblem, RESERVED_WORDS } from '../../../src/core/schema/names.ts'
import { printExpression } from '../../support/sql/print-expression.ts'

/** The printed tree of a condition, with the parentheses that it needs. */
function reread(text: string): string {
  const cursor = new LexemeCursor(text)
  const expression = parseExpression(cursor)
  if (!cursor.atEnd()) throw cursor.unexpected('the end')
  return printExpression(expression)
}

function faultOf(text: string): LanguageError {
  try {
    reread(text)
  } catch (fault) {
    if (fault instanceof LanguageError) return fault
    throw fault
  }
  throw new Error(`${text} is read`)
}

describe('a condition', () => {
  it.each([
    ['a = 1 or b = 2 and not c = 3', 'a = 1 OR b = 2 AND NOT c = 3'],
    ['(a = 1 or b = 2) and c = 3', '(a = 1 OR b = 2) AND c = 3'],
    ['not (a = 1 and b = 2)', 'NOT (a = 1 AND b = 2)'],
    ['not a = 1 and b = 2', 'NOT a = 1 AND b = 2'],
    ['not not a is null', 'NOT a IS NOT NULL'],
    ['((a)) = (((1)))', 'a = 1'],
    ['not ( a ) < b', 'NOT a < b'],
    ['not - 32 = ( a )', 'NOT -32 = a'],
    ['a<-1', 'a < -1'],
    ['a not like b and c not ilike d', 'a NOT LIKE b AND c NOT ILIKE d'],
    ['a isnull or b notnull', 'a IS NULL OR b IS NOT NULL'],
    ["data ? 'k'", "data ? 'k'"],
    ['true or false and null', 'TRUE OR FALSE AND NULL'],
    ['a = true and b = null', 'a = TRUE AND b = NULL'],
    ['null is null', 'NULL IS NULL'],
    ['T.A = U.b', 't.a = u.b'],
    ['a = 1 and (b = 2 and (c = 3 or (d = 4 or e = 5)))', 'a = 1 AND b = 2 AND (c = 3 OR d = 4 OR e = 5)'],
  ])('has the precedence and folded names of %s', (text, expected) => {
    expect(reread(text)).toBe(expected)
    expect(reread(expected)).toBe(expected)
  })

  it.each([
    ['"A" = "B"', "a = 'B'"],
    ['\'A\' = "B"', "'A' = b"],
    ['5 < "B"', '5 < b'],
    ['"A"."B" = "C"."D"', 'a.b = c.d'],
    ['a."B" like "C%"', "a.b LIKE 'C%'"],
    ['("A") = ("B")', "a = 'B'"],
    ['"A" is null', 'a IS NULL'],
    ['"A" ? "B"', "a ? 'B'"],
    ['a = ""', "a = ''"],
    ['"order" = 1', '"order" = 1'],
    ['"a b" = "it\'s"', `"a b" = 'it''s'`],
  ])('reads double quotes as a name or a string by position: %s', (text, expected) => {
    expect(reread(text)).toBe(expected)
  })

  it('keeps the offset of every node', () => {
    expect(parseExpression(new LexemeCursor('(a = 1) AND  NOT b IS NULL'))).toMatchObject({
      at: 1,
      operands: [
        { at: 1, left: { at: 1 }, right: { at: 5 } },
        { at: 13, operand: { at: 17, operand: { at: 17 } } },
      ],
    })
  })
})

describe('an unsupported construct', () => {
  it.each([
    ['a <= 1', '<=', 2],
    ['a <> 1', '<>', 2],
    ['a || b = c', '||', 2],
    ['a = b || c', '||', 6],
    ['a::text = b', '::', 1],
    ['a + 1 = 2', 'Arithmetic', 2],
    ['a = -b', 'Arithmetic', 4],
    ['- - b = a', 'Arithmetic', 0],
    ['a = 1 % 2', 'Arithmetic', 6],
    ["a ~ 'x'", 'A regular expression', 2],
    ["a -> 'x' = 1", 'This operator', 2],
    ['a IN (1, 2)', 'IN', 2],
    ['a NOT IN (1)', 'IN', 6],
    ['a BETWEEN 1 AND 2', 'BETWEEN', 2],
    ['a NOT BETWEEN 1 AND 2', 'BETWEEN', 6],
    ["a SIMILAR TO 'x'", 'SIMILAR TO', 2],
    ["a LIKE 'x' ESCAPE '!'", 'ESCAPE', 11],
    ['a LIKE ANY (b)', 'A function in this place', 7],
    ['a = ALL (b)', 'ALL', 4],
    ['a = b COLLATE "C"', 'COLLATE', 6],
    ['a IS TRUE', 'IS with anything but NULL and NOT NULL', 5],
    ['a IS NOT DISTINCT FROM b', 'IS with anything but NULL and NOT NULL', 9],
    ['a = 1 IS NULL', 'A comparison of a condition', 6],
    ['a = b = c', 'A comparison of a condition', 6],
    ['(a = b) = TRUE', 'A comparison of a condition', 8],
    ['a = (b = c)', 'A comparison with a condition', 4],
    ['a', 'A column alone as a condition (write column = TRUE)', 0],
    ['"a"', 'A column alone as a condition (write column = TRUE)', 0],
    ['a AND b = 1', 'A column alone as a condition (write column = TRUE)', 0],
    ['NOT a', 'A column alone as a condition (write column = TRUE)', 4],
    ['1', 'A value alone as a condition', 0],
    ["'x' OR TRUE", 'A value alone as a condition', 0],
    ['lower(a) = b', 'A function in this place', 0],
    ['COUNT(a) > 1', 'A function in this place', 0],
    ['s.f(a) > 1', 'A function in this place', 0],
    ["a = date '2020-01-01'", 'A word before a text', 4],
    ["a = e'x'", 'A word before a text', 4],
    ['a.b.c = 1', 'A name of more than two parts', 0],
    ['(a, b) = (1, 2)', 'A row of values', 0],
    ['a = (SELECT b FROM c)', 'A subquery', 5],
    ['EXISTS (SELECT 1)', 'EXISTS', 0],
    ['CASE WHEN a = 1 THEN TRUE END', 'CASE', 0],
    ['a = ?', 'A parameter other than $1, $2', 4],
    ['a = $1', 'A parameter in this place', 4],
    ['a = :name', 'A parameter other than $1, $2', 4],
    ['a = $name', 'A parameter other than $1, $2', 4],
    ['a = b$1', 'A parameter other than $1, $2', 5],
    ['a[1] = 2', 'An array or subscript', 1],
  ])('is rejected by its name: %s', (text, construct, at) => {
    expect(faultOf(text)).toMatchObject({ kind: 'unsupported', message: `${construct} is not supported.`, at })
  })
})

describe('a syntax error', () => {
  it.each([
    ['', 0, 'Expected a column or a value.'],
    ['a =', 3, 'Expected a column or a value.'],
    ['a = = 1', 4, 'Expected a column or a value.'],
    ['a = 1 AND', 9, 'Expected a column or a value.'],
    ['AND a = 1', 0, 'Expected a column or a value.'],
    ['(a = 1', 6, 'Expected ).'],
    ['a = 1)', 5, 'Expected the end.'],
    ['a NOT 1', 6, 'Expected LIKE or ILIKE.'],
    ['a IS', 4, 'Expected NULL.'],
    ['a. = 1', 3, 'Expected a column.'],
    ['"" = 1', 0, 'This name is empty.'],
    ['a.order = 1', 2, undefined],
  ])('has an offset and does not repeat the text: %j', (text, at, message) => {
    const fault = faultOf(text)
    expect(fault.at).toBe(at)
    if (message !== undefined) expect(fault).toMatchObject({ kind: 'syntax', message })
  })

  it('never repeats text of the query', () => {
    for (const text of ['a = 1 canary', 'canary(1) = 1', "a 'canary'", 'a = "canary', 'a canary b', '"canary" canary canary']) {
      expect(faultOf(text).message).not.toContain('canary')
    }
  })

  it('of too deep nesting has the kind limit', () => {
    expect(reread(`${'('.repeat(64)}a = 1${')'.repeat(64)}`)).toBe('a = 1')
    expect(faultOf(`${'('.repeat(65)}a = 1${')'.repeat(65)}`)).toMatchObject({ kind: 'limit', at: 64 })
    expect(faultOf(`${'NOT '.repeat(65)}a = 1`)).toMatchObject({ kind: 'limit', at: 64 * 4 })
  })

  it('does not count parentheses beside each other as nesting', () => {
    expect(reread(Array.from({ length: 200 }, () => '(a = 1)').join(' OR '))).toContain('OR')
  })
})

describe('a cursor', () => {
  it('parses other languages around a condition', () => {
    const cursor = new LexemeCursor("ALLOW READ ON Persons.name, cards.* WHERE persons.country = 'SE' END")
    expect(cursor.expectWord('allow')).toBe(0)
    expect(cursor.atWord('create', 'read')).toBe(true)
    expect(cursor.next().text).toBe('read')
    expect(cursor.takeWord('on')).toBe(true)
    expect(cursor.expectName('a table')).toEqual({ name: 'persons', at: 14 })
    expect(cursor.expectSymbol('.')).toBe(21)
    expect(cursor.expectName('a column')).toEqual({ name: 'name', at: 22 })
    expect([cursor.takeSymbol(','), cursor.takeSymbol(',')]).toEqual([true, false])
    expect([cursor.next(), cursor.next(), cursor.next()].map(({ text }) => text)).toEqual(['cards', '.', '*'])
    expect(cursor.takeWord('where')).toBe(true)
    expect(printExpression(parseExpression(cursor))).toBe("persons.country = 'SE'")
    expect(cursor.atWord('end')).toBe(true)
    expect(cursor.atEnd()).toBe(false)
    cursor.next()
    expect([cursor.atEnd(), cursor.next().kind, cursor.peek(5).kind]).toEqual([true, 'end', 'end'])
  })

  it('names what it expected', () => {
    expect(() => new LexemeCursor('DENY').expectWord('allow')).toThrow('Expected ALLOW.')
    expect(() => new LexemeCursor('a').expectSymbol(',')).toThrow('Expected ,.')
    expect(() => new LexemeCursor('where').expectName('a table')).toThrow('Expected a table.')
  })

  it('reserves no valid table or column name', () => {
    for (const word of RESERVED_WORDS) expect(nameProblem(word), word).toContain('reserved word')
  })
})
