/** Properties of the SQL parser: it reads what it prints, it reads queries as PostgreSQL does, and any text ends in time. */
import { isDeepStrictEqual } from 'node:util'
import { loadModule } from 'libpg-query'
import { beforeAll, describe, expect, it } from 'vitest'
import { LanguageError } from '../../src/core/expressions/language-error.ts'
import { parseSelect } from '../../src/core/sql/parse-select.ts'
import { printSelect } from '../../src/core/sql/print-select.ts'
import type { Select } from '../../src/core/sql/select.ts'
import { type SeededRandom, seededRandom } from '../support/random/seeded-random.ts'
import { isComparable, readAsPostgres, toReading } from '../support/sql/postgres-reading.ts'
import { assertRoundTrip, damage, dress, randomSelect, randomText, withoutPlaces } from '../support/sql/random-selects.ts'
import { readVectors } from '../support/sql/vectors.ts'

const SEED = 'sql parser 1'
const isSoak = process.env.SOAK === '1'
const TEXTS = isSoak ? 20_000_000 : 100_000
const SOAK_HOURS = 12 * 3_600_000
/** Milliseconds that one text may take, at most. */
const LONGEST = 50

beforeAll(async () => loadModule())

describe('a query', () => {
  it(
    'prints to a text that parses to the same tree, in any spelling',
    () => {
      const random = seededRandom(SEED)
      for (let run = 0; run < TEXTS / 10; run++) assertRoundTrip(random, randomSelect(random))
    },
    isSoak ? SOAK_HOURS : 60_000,
  )

  it('parses as in PostgreSQL', () => {
    const random = seededRandom(SEED)
    for (let run = 0; run < 3000; run++) assertReadAlike(printSelect(randomSelect(random)))
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
    for (const sql of accepted) assertReadAlike(sql)
    expect(accepted.length).toBe(6)
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
  it(
    'parses as in PostgreSQL or is rejected with a LanguageError, in time',
    () => {
      const random = seededRandom(SEED)
      const queries = Array.from({ length: 2000 }, () => printSelect(randomSelect(random)))
      let accepted = 0
      for (let run = 0; run < TEXTS; run++) {
        const text = randomQuery(random, queries[run % queries.length] ?? '')
        const tree = readInTime(text)
        if (tree === undefined) continue
        accepted++
        const printed = assertPrinted(tree)
        if (isComparable(printed)) assertReadAlike(printed)
        if (!text.includes('"') && isComparable(text)) assertReadAlike(text)
      }
      expect(accepted).toBeGreaterThan(TEXTS / 50)
    },
    isSoak ? SOAK_HOURS : 60_000,
  )

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

function randomQuery(random: SeededRandom, query: string): string {
  const roll = random()
  if (roll < 0.4) return randomText(random)
  return damage(random, roll < 0.6 ? dress(random, query) : query)
}

/** The tree of a text; undefined if it is rejected with a LanguageError. */
function read(text: string): Select | undefined {
  try {
    return parseSelect(text)
  } catch (fault) {
    if (!(fault instanceof LanguageError) || fault.at < 0 || fault.at > text.length) throw fault
    return undefined
  }
}

function readInTime(text: string): Select | undefined {
  return inTime(() => read(text))
}

/** Repeats work that took too long: only work that is slow every time counts as slow. */
function inTime<Result>(work: () => Result): Result {
  let took = 0
  for (let attempt = 0; attempt < 4; attempt++) {
    const start = performance.now()
    const result = work()
    took = performance.now() - start
    if (took <= LONGEST) return result
  }
  throw new Error(`this took ${took} ms`)
}

function spin(milliseconds: number): string {
  const end = performance.now() + milliseconds
  while (performance.now() < end) {
    // Burns time.
  }
  return 'late'
}

/** The text that a tree prints to, after it was parsed back. */
function assertPrinted(tree: Select): string {
  const printed = printSelect(tree)
  if (isDeepStrictEqual(withoutPlaces(parseSelect(printed)), withoutPlaces(tree))) return printed
  throw new Error(`printed otherwise: ${printed}`)
}

function assertReadAlike(text: string): void {
  const ours = toReading(parseSelect(text))
  const theirs = readAsPostgres(text)
  if (isDeepStrictEqual(ours, theirs)) return
  throw new Error(`${text}\nwe read ${JSON.stringify(ours)}\nPostgreSQL ${JSON.stringify(theirs)}`)
}

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
