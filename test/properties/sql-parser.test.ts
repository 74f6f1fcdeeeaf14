/** The law of the SQL parser, and queries and texts of special kinds. */
import { loadModule } from 'libpg-query'
import { beforeAll, describe, expect, it } from 'vitest'
import { LanguageError } from '../../src/core/expressions/language-error.ts'
import { parseSelect } from '../../src/core/sql/parse-select.ts'
import { assertReadAlike, inTime, LONGEST, read, readInTime, spin, sqlParser } from '../laws/sql-parser.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { seededRandom } from '../support/random/seeded-random.ts'
import { printSelect } from '../support/sql/print-select.ts'
import { assertRoundTrip, randomSelect } from '../support/sql/random-selects.ts'
import { readVectors } from '../support/sql/vectors.ts'

const SEED = 'sql parser 1'

itHolds(sqlParser)

beforeAll(async () => loadModule())

describe('a query', () => {
  it('parses as in PostgreSQL', () => {
    const random = seededRandom(SEED)
    for (let run = 0; run < 3000; run++) assertReadAlike(printSelect(randomSelect(random), { isExtended: run % 2 === 0 }))
  })

  it.each(['strict', 'generated'])('of the %s vectors parses as in PostgreSQL and prints to the same tree', (name) => {
    const random = seededRandom(SEED)
    for (const { sql } of readVectors<{ sql: string }>(name)) {
      const tree = parseSelect(sql)
      assertRoundTrip(random, tree)
      if (!sql.includes('"')) assertReadAlike(sql)
      assertReadAlike(printSelect(tree))
    }
  })

  it.each(['-0', '-00', '-0.0', '-.0', '-0e5'])('with the number %s parses as in PostgreSQL, where it is 0', (zero) => {
    for (const condition of [`a = ${zero}`, `${zero} < a`, `a LIKE ${zero}`, `${zero} IS NULL`, `${zero} = 0`])
      assertReadAlike(`SELECT a FROM t WHERE ${condition}`)
  })

  it.each([
    'SELECT ALL a, (t.b) AS x, ((c)), COUNT((a)) FROM t',
    'SELECT (a) FROM t WHERE ((a)) = +5 AND (t.b) > - 5 OR +.5e1 < (c)',
    'SELECT a FROM t JOIN u ON ((t.a)) = (u.a) WHERE a = - - 5 OR b = -+5 OR c = + - 5 OR d = - + - 5 LIMIT +5 OFFSET + 2',
  ])('with signs and parentheses parses as in PostgreSQL: %s', assertReadAlike)

  it('is rejected if it is not one SELECT', () => {
    for (const { sql } of readVectors<{ sql: string }>('reject')) expect(() => parseSelect(sql), sql).toThrow(LanguageError)
  })

  it('is rejected if it is an injection payload, except one payload that is a query', () => {
    const payloads = readVectors<{ payload: string }>('injection').map(({ payload }) => payload)
    expect(payloads.filter((payload) => read(payload) !== undefined)).toEqual(['select * from pg_group;'])
  })

  it('of the extended vectors is rejected, or parses as in PostgreSQL', () => {
    const queries = readVectors<{ sql: string }>('extended').map(({ sql }) => sql)
    const accepted = queries.filter((sql) => read(sql) !== undefined)
    // Names in quotes are folded here, and kept in PostgreSQL.
    for (const sql of accepted) if (!sql.includes('"')) assertReadAlike(sql)
    expect(accepted.length).toBe(193)
  })
})

describe('an alias without AS', () => {
  // Key words that PostgreSQL takes for an alias only after AS, and some that it takes without.
  const words = `array as char character collate create cross day except fetch filter for from full group having hour ilike inner
    intersect into is isnull join left like limit minute month natural notnull offset on or order over overlaps precision returning
    right second similar tablesample to union using varying where window with within without year
    action at both by cast check count date default desc end key level min name only row some table text time type user value`

  it.each(words.split(/\s+/))('can be %s only if PostgreSQL allows it', (word) => {
    const text = `SELECT a ${word} FROM t`
    if (read(text) !== undefined) assertReadAlike(text)
  })

  it('can be most words', () => {
    expect(['count', 'date', 'key', 'user', 'value'].map((word) => read(`SELECT a ${word} FROM t`)?.items[0])).toEqual(
      ['count', 'date', 'key', 'user', 'value'].map((alias) => expect.objectContaining({ alias })),
    )
  })
})

describe('any text', () => {
  it.each(pathologicalTexts())('of %s is rejected in time', (_, text) => {
    expect(readInTime(text)).toBeUndefined()
  })

  it.each(largeTexts())('of %s is parsed in time', (_, text) => {
    expect(readInTime(text)).toBeDefined()
  })
})

describe('the time limit of a text', () => {
  it('fails for a text that takes too long', () => {
    expect(() => inTime(() => spin(LONGEST + 10))).toThrow('took')
  })

  it('passes a text that was slow once', () => {
    let calls = 0
    expect(inTime(() => (calls++ === 0 ? spin(LONGEST + 10) : 'done'))).toBe('done')
  })
})

function pathologicalTexts(): readonly (readonly [string, string])[] {
  const pieces = [
    '(',
    ')',
    'NOT ',
    ',',
    "'",
    '"',
    '--',
    '/*',
    '*/',
    '-',
    '=',
    ';',
    '.',
    'a ',
    '1',
    'SELECT ',
    '\\',
    '\0',
    '🦆',
    'a AND ',
  ]
  const million = pieces.map((piece) => [`a million of ${JSON.stringify(piece)}`, piece.repeat(1_000_000)] as const)
  const where = 'SELECT a FROM t WHERE '
  const fitting = pieces.map((piece) => {
    const times = Math.floor((16_384 - where.length) / piece.length)
    return [`as many ${JSON.stringify(piece)} as fit`, where + piece.repeat(times)] as const
  })
  return [
    ...million,
    ...fitting,
    ['parentheses 65 deep', `${where}${'('.repeat(65)}a = 1${')'.repeat(65)}`],
    ['NOT 65 deep', `${where}${'NOT '.repeat(65)}a = 1`],
    ['4,001 lexemes', `SELECT ${'a,'.repeat(1998)}a FROM t WHERE`],
    ['comments in comments that do not close', `${where}${'/* '.repeat(5000)}`],
  ]
}

function largeTexts(): readonly (readonly [string, string])[] {
  const where = 'SELECT a FROM t WHERE '
  return [
    ['parentheses 64 deep', `${where}${'('.repeat(64)}a = 1${')'.repeat(64)}`],
    ['parentheses and NOT, 64 deep', `${where}${'NOT ('.repeat(32)}a = 1${')'.repeat(32)}`],
    ['a thousand conditions', `${where}${'a=1 OR '.repeat(990)}a=1`],
    ['4,000 lexemes', `SELECT ${'a,'.repeat(1998)}a FROM t`],
    ['16,384 characters', `${where}a = '${'x'.repeat(16_384 - where.length - 6)}'`],
    ['comments in comments', `${where}${'/*'.repeat(3000)}${'*/'.repeat(3000)} a = 1`],
    ['comments in a row', `${where}${'/**/'.repeat(4000)} a = 1`],
    ['a long number', `${where}a = ${'9'.repeat(16_000)}`],
  ]
}
