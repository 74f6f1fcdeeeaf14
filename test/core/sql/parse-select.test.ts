/** Tests parsing queries. */
import { describe, expect, it } from 'vitest'
import { LanguageError } from '../../../src/core/expressions/language-error.ts'
import { QUERY_LIMITS, type QueryLimits } from '../../../src/core/limits.ts'
import { parseSelect } from '../../../src/core/sql/parse-select.ts'
import { printSelect } from '../../support/sql/print-select.ts'

function faultOf(text: string, limits?: QueryLimits): LanguageError {
  try {
    parseSelect(text, limits)
  } catch (fault) {
    if (fault instanceof LanguageError) return fault
    throw fault
  }
  throw new Error(`${text} is read`)
}

describe('a query', () => {
  it('is parsed completely', () => {
    const text = `SELECT p.Name AS who, REDACTION(p.ssn, 'MASKED'), COUNT(*) c FROM Persons p LEFT JOIN cards ON p.id = cards.owner
      WHERE p.country = "SE" LIMIT 5 OFFSET 10;`
    expect(parseSelect(text)).toEqual({
      items: [
        { kind: 'value', column: { kind: 'column', table: 'p', name: 'name', at: 7 }, alias: 'who', at: 7 },
        {
          kind: 'redaction',
          column: { kind: 'column', table: 'p', name: 'ssn', at: 32 },
          level: { kind: 'text', text: 'MASKED', at: 39 },
          alias: undefined,
          at: 22,
        },
        { kind: 'aggregate', name: 'count', column: undefined, isDistinct: false, alias: 'c', text: 'count(*)', at: 50 },
      ],
      from: { table: 'persons', alias: 'p', at: 66 },
      joins: [
        {
          kind: 'left',
          table: { table: 'cards', alias: 'cards', at: 86 },
          on: {
            kind: 'compare',
            operator: '=',
            left: { kind: 'column', table: 'p', name: 'id', at: 95 },
            right: { kind: 'column', table: 'cards', name: 'owner', at: 102 },
            at: 95,
          },
          at: 76,
        },
      ],
      where: {
        kind: 'compare',
        operator: '=',
        left: { kind: 'column', table: 'p', name: 'country', at: 126 },
        right: { kind: 'text', text: 'SE', at: 138 },
        at: 126,
      },
      groupBy: [],
      orderBy: [],
      limit: 5,
      offset: 10,
    })
  })

  it('has its groups and its order', () => {
    expect(parseSelect('SELECT a FROM t GROUP BY (t.a), "B" ORDER BY a, COUNT( DISTINCT t.B ) DESC, "C" ASC')).toMatchObject({
      groupBy: [{ table: 't', name: 'a', at: 26 }, { name: 'b' }],
      orderBy: [
        { by: { kind: 'column', name: 'a' }, direction: 'asc', at: 45 },
        { by: { name: 'count', column: { table: 't', name: 'b' }, isDistinct: true }, direction: 'desc', at: 48 },
        { by: { name: 'c' }, direction: 'asc' },
      ],
    })
  })

  it.each([
    ['select*from t', 'SELECT * FROM t'],
    ['SELECT t . * , *FROM t', 'SELECT t.*, * FROM t'],
    ['SELECT a FROM t OFFSET 2 LIMIT 0', 'SELECT a FROM t LIMIT 0 OFFSET 2'],
    ['SELECT a FROM t;;;', 'SELECT a FROM t'],
    ['SELECT a FROM t AS x JOIN t AS y ON x.a=y.b', 'SELECT a FROM t AS x JOIN t AS y ON x.a = y.b'],
    ['SELECT a FROM t INNER JOIN u ON TRUE', 'SELECT a FROM t JOIN u ON TRUE'],
    ['SELECT a FROM t RIGHT OUTER JOIN u ON (t.a=u.a)', 'SELECT a FROM t RIGHT JOIN u ON t.a = u.a'],
    ['SELECT a FROM t FULL OUTER JOIN u ON NULL', 'SELECT a FROM t FULL JOIN u ON NULL'],
    ['SELECT a FROM t left JOIN u ON a=b full join v ON c=d', 'SELECT a FROM t LEFT JOIN u ON a = b FULL JOIN v ON c = d'],
    ['SELECT MAX ( ( a ) ), SUM(ALL a), COUNT ( ALL (t.b) ) FROM t', 'SELECT MAX(a), SUM(a), COUNT(t.b) FROM t'],
    ['SELECT REDACTION(a, "MASKED") FROM t', "SELECT REDACTION(a, 'MASKED') FROM t"],
    ['SELECT a "Hello World", b AS "order" FROM t', 'SELECT a AS "hello world", b AS "order" FROM t'],
    ['SELECT ALL a, * FROM t', 'SELECT a, * FROM t'],
    ['SELECT (a), ((t.b)) x, REDACTION((c), "MASKED") FROM t', "SELECT a, t.b AS x, REDACTION(c, 'MASKED') FROM t"],
    ['SELECT a FROM t WHERE (a) = +5 AND ((t.b)) > - 5', 'SELECT a FROM t WHERE a = 5 AND t.b > -5'],
    ['SELECT a FROM t WHERE a =+5 OR a = - + - -.5 LIMIT +7', 'SELECT a FROM t WHERE a = 5 OR a = -.5 LIMIT 7'],
    ['SELECT "A" FROM "T" AS "U"', 'SELECT a FROM t AS u'],
    ['SELECT a FROM "a""b"', 'SELECT a FROM "a""b"'],
    [
      'SELECT key, value, date, time, type, min, count, redaction FROM text',
      'SELECT key, value, date, time, type, min, count, redaction FROM text',
    ],
    ['SELECT min min, count(min) max FROM sum', 'SELECT min AS min, COUNT(min) AS max FROM sum'],
    ['SELECT user, "default", "check" FROM "table"', 'SELECT user, default, check FROM table'],
    ['SELECT a FROM t semi JOIN u ON a = b', 'SELECT a FROM t AS semi JOIN u ON a = b'],
    ['SELECT a FROM t WHERE a<=1 AND b>=-2', 'SELECT a FROM t WHERE NOT a > 1 AND NOT b < -2'],
    ['SELECT a FROM t WHERE a<>1 OR 1!=a', 'SELECT a FROM t WHERE NOT a = 1 OR NOT 1 = a'],
    ['SELECT a FROM t WHERE a IN ("x", (2), $3)', "SELECT a FROM t WHERE a = 'x' OR a = 2 OR a = $3"],
    ['SELECT a FROM t WHERE a NOT IN (NULL)', 'SELECT a FROM t WHERE NOT a = NULL'],
    ['SELECT a FROM t WHERE 1 IN (a, b) AND c = 1', 'SELECT a FROM t WHERE (1 = a OR 1 = b) AND c = 1'],
    ['SELECT a FROM t WHERE a BETWEEN 1 AND 2 AND b = 3', 'SELECT a FROM t WHERE NOT a < 1 AND NOT a > 2 AND b = 3'],
    ['SELECT a FROM t WHERE NOT a NOT BETWEEN b AND (c)', 'SELECT a FROM t WHERE NOT NOT (NOT a < b AND NOT a > c)'],
    ['SELECT count(DISTINCT (a)) FROM t', 'SELECT COUNT(DISTINCT a) FROM t'],
    ['SELECT a FROM t GROUP BY a ORDER BY a ASC, SUM(ALL b) DESC', 'SELECT a FROM t GROUP BY a ORDER BY a, SUM(b) DESC'],
  ])('is parsed in any spelling: %s', (text, expected) => {
    expect(printSelect(parseSelect(text))).toBe(expected)
    expect(printSelect(parseSelect(expected))).toBe(expected)
  })

  it('names a function by its text in lower case, without blanks, ALL and parentheses', () => {
    const { items } = parseSelect('SELECT COUNT( * ), Sum(ALL A), MAX((T.B)), min("C"), COUNT( DISTINCT  T.a ) FROM t')
    expect(items.map((item) => item.kind === 'aggregate' && item.text)).toEqual([
      ...['count(*)', 'sum(a)', 'max(t.b)', 'min(c)', 'count(distinct t.a)'],
    ])
  })

  it('accepts LIMIT and OFFSET up to the largest safe integer', () => {
    expect(parseSelect('SELECT a FROM t LIMIT 0007 OFFSET 9007199254740991')).toMatchObject({
      limit: 7,
      offset: 9007199254740991,
    })
  })
})

describe('an unsupported construct', () => {
  it.each([
    ['SELECT DISTINCT a FROM t', 'DISTINCT', 7],
    ['SELECT a, 1 FROM t', 'A value in the select list', 10],
    ["SELECT 'x' FROM t", 'A value in the select list', 7],
    ['SELECT NULL FROM t', 'A value in the select list', 7],
    ['SELECT (a = 1) FROM t', 'An expression in the select list', 7],
    ['SELECT ((a), b) FROM t', 'An expression in the select list', 7],
    ['SELECT (1) FROM t', 'A value in the select list', 8],
    ['SELECT (COUNT(*)) FROM t', 'A function in this place', 8],
    ['SELECT (SELECT a FROM t) FROM t', 'A subquery', 8],
    ['SELECT a FROM t WHERE +b = 1', 'Arithmetic', 22],
    ['SELECT a FROM t WHERE b = 1 + 1', 'Arithmetic', 28],
    ['SELECT NOT a FROM t', 'An expression in the select list', 7],
    ['SELECT -a FROM t', 'Arithmetic', 7],
    ['SELECT a + 1 FROM t', 'Arithmetic', 9],
    ['SELECT a || b FROM t', '||', 9],
    ['SELECT a::text FROM t', '::', 8],
    ['SELECT a = 1 FROM t', 'A condition in the select list', 9],
    ['SELECT a IS NULL FROM t', 'A condition in the select list', 9],
    ['SELECT a AND b FROM t', 'A condition in the select list', 9],
    ["SELECT a SIMILAR TO 'x' FROM t", 'SIMILAR TO', 9],
    ['SELECT a COLLATE "C" FROM t', 'COLLATE', 9],
    ['SELECT a NOTNULL FROM t', 'A condition in the select list', 9],
    ["SELECT t.* LIKE 'x' FROM t", 'A condition in the select list', 11],
    ['SELECT lower(a) FROM t', 'A function other than AVG, COUNT, MAX, MIN, REDACTION and SUM', 7],
    ['SELECT CAST(a AS text) FROM t', 'A function other than AVG, COUNT, MAX, MIN, REDACTION and SUM', 7],
    ['SELECT CASE WHEN a THEN b END FROM t', 'CASE', 7],
    ['SELECT SUM(DISTINCT a) FROM t', 'DISTINCT', 11],
    ['SELECT COUNT(DISTINCT *) FROM t', 'Arithmetic', 22],
    ['SELECT a <> 1 FROM t', 'A condition in the select list', 9],
    ['SELECT a BETWEEN 1 AND 2 FROM t', 'A condition in the select list', 9],
    ['SELECT COUNT(1) FROM t', 'A value in a function', 13],
    ['SELECT COUNT(NULL) FROM t', 'A value in a function', 13],
    ['SELECT SUM(a + b) FROM t', 'Arithmetic', 13],
    ['SELECT SUM(MAX(a)) FROM t', 'A function in this place', 11],
    ['SELECT SUM(a) + 1 FROM t', 'Arithmetic', 14],
    ['SELECT SUM(a) OVER () FROM t', 'OVER', 14],
    ['SELECT SUM(a) FILTER (WHERE b = 1) FROM t', 'FILTER', 14],
    ["SELECT date '2020-01-01' FROM t", 'A word before a text', 7],
    ['SELECT a', 'SELECT without FROM', 8],
    ['SELECT a WHERE b = 1', 'SELECT without FROM', 9],
    ['SELECT a INTO b FROM t', 'SELECT INTO', 9],
    ['SELECT a FROM t, u', 'A list of tables (write JOIN and ON)', 15],
    ['SELECT a FROM t CROSS JOIN u', 'CROSS JOIN', 16],
    ['SELECT a FROM t NATURAL JOIN u', 'NATURAL', 16],
    ['SELECT a FROM t JOIN u USING (a)', 'USING', 23],
    ['SELECT a FROM t JOIN u JOIN v ON a = b ON c = d', 'A join within a join', 23],
    ['SELECT a FROM (SELECT b FROM t) AS u', 'Anything but a table in FROM', 14],
    ['SELECT a FROM f(1)', 'Anything but a table in FROM', 14],
    ['SELECT a FROM s.t', 'A schema before a table', 14],
    ['SELECT a FROM t AS u (b)', 'A list of columns after an alias', 21],
    ['SELECT a FROM t WHERE b IN (SELECT c FROM u)', 'A subquery', 28],
    ['SELECT a FROM t WHERE b IN ((1, 2))', 'A row of values', 28],
    ['SELECT a FROM t WHERE b <= 1 >= 2', 'A comparison of a condition', 29],
    ['SELECT a FROM t WHERE b IN (1) = c', 'A comparison of a condition', 31],
    ['SELECT a FROM t GROUP BY 1', 'A value in GROUP BY', 25],
    ['SELECT a FROM t GROUP BY lower(a)', 'A function in GROUP BY', 25],
    ['SELECT a FROM t GROUP BY a HAVING b = 1', 'HAVING', 27],
    ['SELECT a FROM t ORDER BY 2', 'A value in ORDER BY', 25],
    ['SELECT a FROM t ORDER BY (a = 1)', 'An expression in ORDER BY', 25],
    ['SELECT a FROM t ORDER BY a + 1', 'Arithmetic', 27],
    ['SELECT a FROM t ORDER BY $1', 'A value in ORDER BY', 25],
    ['SELECT a FROM t ORDER BY a DESC NULLS LAST', 'NULLS FIRST and NULLS LAST', 32],
    ['SELECT a FROM t ORDER BY a COLLATE "C"', 'COLLATE', 27],
    ['SELECT a FROM t HAVING a = 1', 'HAVING', 16],
    ['SELECT a FROM t UNION SELECT a FROM u', 'UNION', 16],
    ['SELECT a FROM t INTERSECT SELECT a FROM u', 'INTERSECT', 16],
    ['SELECT a FROM t EXCEPT SELECT a FROM u', 'EXCEPT', 16],
    ['SELECT a FROM t WINDOW w AS ()', 'WINDOW', 16],
    ['SELECT a FROM t FOR UPDATE', 'FOR UPDATE or FOR SHARE', 16],
    ['SELECT a FROM t FETCH FIRST 1 ROW ONLY', 'FETCH', 16],
    ['SELECT a FROM t TABLESAMPLE SYSTEM (1)', 'TABLESAMPLE', 16],
    ['SELECT a FROM t LIMIT ALL', 'ALL', 22],
    ['SELECT a FROM t LIMIT NULL', 'LIMIT or OFFSET of NULL', 22],
    ['SELECT a FROM t LIMIT 1, 2', 'LIMIT with two numbers (write OFFSET)', 23],
    ['SELECT a FROM t LIMIT 1 + 1', 'Arithmetic', 24],
    ['SELECT $1 FROM t', 'A value in the select list', 7],
    ['SELECT COUNT($1) FROM t', 'A value in a function', 13],
    ['SELECT REDACTION(a, $1) FROM t', 'A parameter in this place', 20],
    ['SELECT a AS $1 FROM t', 'A parameter in this place', 12],
    ['SELECT a FROM $1', 'A parameter in this place', 14],
    ['SELECT a FROM t WHERE $1', 'A value alone as a condition', 22],
    ['SELECT a FROM t WHERE a = -$1', 'Arithmetic', 26],
    ['SELECT a FROM t LIMIT ?', 'A parameter other than $1, $2', 22],
    ['SELECT a FROM t OFFSET 1 ROWS', 'OFFSET ROWS', 25],
    ['SELECT a FROM t; SELECT a FROM t', 'A second statement', 17],
    ['SELECT a FROM t; DROP TABLE t', 'A second statement', 17],
    ['(SELECT a FROM t)', 'A query in parentheses', 0],
    ['WITH u AS (SELECT a FROM t) SELECT a FROM u', 'WITH at the beginning of a statement', 0],
    ['insert into t values (1)', 'INSERT at the beginning of a statement', 0],
    ['PRAGMA user_version', 'PRAGMA at the beginning of a statement', 0],
    ['  DROP TABLE t', 'DROP at the beginning of a statement', 2],
  ])('is rejected by its name and offset: %s', (text, construct, at) => {
    expect(faultOf(text)).toMatchObject({ kind: 'unsupported', message: `${construct} is not supported.`, at })
  })
})

describe('without the extensions', () => {
  it.each([
    ['SELECT a FROM t WHERE b <= 1', '<=', 24],
    ['SELECT a FROM t WHERE b >= 1', '>=', 24],
    ['SELECT a FROM t WHERE b <> 1', '<>', 24],
    ['SELECT a FROM t WHERE b != 1', '!=', 24],
    ['SELECT a FROM t WHERE b IN (1)', 'IN', 24],
    ['SELECT a FROM t WHERE b NOT IN (1)', 'IN', 28],
    ['SELECT a FROM t WHERE b BETWEEN 1 AND 2', 'BETWEEN', 24],
    ['SELECT COUNT(DISTINCT a) FROM t', 'DISTINCT', 13],
    ['SELECT a <= 1 FROM t', '<=', 9],
    ['SELECT a FROM t GROUP BY a', 'GROUP BY', 16],
    ['SELECT a FROM t ORDER BY a', 'ORDER BY', 16],
    ['SELECT a FROM t LIMIT 1 ORDER BY a', 'ORDER BY', 24],
  ])('is rejected by its name and offset: %s', (text, construct, at) => {
    const message = `${construct} is not supported.`
    expect(faultOf(text, { ...QUERY_LIMITS, queryExtensions: false })).toMatchObject({ kind: 'unsupported', message, at })
  })
})

describe('a syntax error', () => {
  it.each([
    ['', 0, 'Expected SELECT.'],
    [';', 0, 'Expected SELECT.'],
    ['canary', 0, 'Expected SELECT.'],
    ['SELECT', 6, 'Expected a column.'],
    ['SELECT FROM t', 7, 'Expected a column.'],
    ['SELECT a, FROM t', 10, 'Expected a column.'],
    ['SELECT a b c FROM t', 11, 'Expected FROM.'],
    ['SELECT COUNT() FROM t', 13, 'Expected a column.'],
    ['SELECT REDACTION(a) FROM t', 18, 'Expected ,.'],
    ['SELECT REDACTION(a, b) FROM t', 20, 'Expected a level in quotes.'],
    ['SELECT a AS FROM t', 12, 'Expected an alias.'],
    ['SELECT a FROM', 13, 'Expected a table.'],
    ["SELECT a FROM 't'", 14, 'Expected a table.'],
    ['SELECT a FROM t WHERE', 21, 'Expected a column or a value.'],
    ['SELECT a FROM t LEFT u ON a = b', 21, 'Expected JOIN.'],
    ['SELECT a FROM t JOIN u', 22, 'Expected ON.'],
    ['SELECT a FROM t WHERE a = 1 WHERE b = 1', 28, 'Expected the end of the query.'],
    ['SELECT a FROM t LIMIT', 21, 'Expected an integer.'],
    ["SELECT a FROM t LIMIT '1'", 22, 'Expected an integer.'],
    ['SELECT a FROM t LIMIT 1 LIMIT 2', 24, 'LIMIT appears twice.'],
    ['SELECT a FROM t OFFSET 1 LIMIT 2 OFFSET 1', 33, 'OFFSET appears twice.'],
    ['SELECT a AS "" FROM t', 12, 'This name is empty.'],
    ['SELECT a FROM t WHERE b IN ()', 28, 'Expected a column or a value.'],
    ['SELECT a FROM t WHERE b IN 1', 27, 'Expected (.'],
    ['SELECT a FROM t WHERE b IN (1', 29, 'Expected ).'],
    ['SELECT a FROM t WHERE b BETWEEN 1 OR 2', 34, 'Expected AND.'],
    ['SELECT a FROM t WHERE b NOT = 1', 28, 'Expected BETWEEN, ILIKE, IN or LIKE.'],
    ['SELECT a FROM t WHERE <= 1', 22, 'Expected a column or a value.'],
    ['SELECT a FROM t ORDER a', 22, 'Expected BY.'],
    ['SELECT a FROM t LIMIT 1 ORDER BY a', 24, 'Expected the end of the query.'],
    ['SELECT a FROM t ORDER BY a GROUP BY a', 27, 'Expected the end of the query.'],
    ['SELECT a FROM t ORDER BY a,', 27, 'Expected a column.'],
  ])('has its offset: %j', (text, at, message) => {
    expect(faultOf(text)).toMatchObject({ kind: 'syntax', at, message })
  })

  it.each(['-1', '- 1', '1.0', '1.5', '1e1', '.5', '9007199254740992', '9'.repeat(400)])(
    'of range is LIMIT or OFFSET %s',
    (number) => {
      expect(faultOf(`SELECT a FROM t LIMIT ${number}`)).toMatchObject({ kind: 'range', at: 22 })
      expect(faultOf(`SELECT a FROM t OFFSET ${number}`)).toMatchObject({ kind: 'range', at: 23 })
    },
  )

  it('is an alias that cannot be a result key', () => {
    expect(faultOf('SELECT a AS __proto__ FROM t')).toMatchObject({ kind: 'name', at: 12 })
    expect(faultOf('SELECT a FROM t "__PROTO__"')).toMatchObject({ kind: 'name', at: 16 })
    expect(faultOf(`SELECT a ${'x'.repeat(64)} FROM t`)).toMatchObject({ kind: 'limit', at: 9 })
  })

  it('is too deep parentheses in a function', () => {
    expect(faultOf(`SELECT SUM(${'('.repeat(65)}a${')'.repeat(66)} FROM t`)).toMatchObject({ kind: 'limit', at: 75 })
  })
})
