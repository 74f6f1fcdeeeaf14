/** Law of the SQL parser: it reads what it prints, it reads queries as PostgreSQL does, and any text ends in time. */
import { isDeepStrictEqual } from 'node:util'
import { loadModule } from 'libpg-query'
import { LanguageError } from '../../src/core/expressions/language-error.ts'
import { parseSelect } from '../../src/core/sql/parse-select.ts'
import type { ParsedSelect } from '../../src/core/sql/select.ts'
import type { SeededRandom } from '../support/random/seeded-random.ts'
import { isComparable, readAsPostgres, toReading } from '../support/sql/postgres-reading.ts'
import { printSelect } from '../support/sql/print-select.ts'
import { assertRoundTrip, damage, dress, randomSelect, randomText, withoutPlaces } from '../support/sql/random-selects.ts'
import type { Law } from './law.ts'

/** Milliseconds that one text may take, at most. */
export const LONGEST = 50
/** Random texts of a case, besides a tenth as many printed queries. */
const TEXTS = 1000

export const sqlParser: Law = {
  name: 'sql-parser',
  statement:
    'Any text parses as in PostgreSQL or is rejected, in time, and a query prints to a text that parses to the same tree',
  unit: 'texts',
  figures: { test: 25_000, soak: 20_000_000 },
  weight: 1,
  async open() {
    await loadModule()
    return {
      check({ random }) {
        const queries = Array.from({ length: TEXTS / 10 }, () => randomSelect(random))
        for (const query of queries) assertRoundTrip(random, query)
        let accepted = 0
        for (let run = 0; run < TEXTS; run++) {
          const query = queries[run % queries.length]
          const text = randomQuery(random, query === undefined ? '' : printSelect(query))
          if (isReadAlike(text)) accepted++
        }
        if (accepted < TEXTS / 50) throw new Error(`only ${accepted} of ${TEXTS} texts were queries`)
        return TEXTS
      },
    }
  },
}

/** True if the text is a query. Throws if PostgreSQL reads it otherwise. */
function isReadAlike(text: string): boolean {
  const tree = readInTime(text)
  if (tree === undefined) return false
  const printed = assertPrinted(tree)
  if (isComparable(printed)) assertReadAlike(printed)
  if (!text.includes('"') && isComparable(text)) assertReadAlike(text)
  return true
}

function randomQuery(random: SeededRandom, query: string): string {
  const roll = random()
  if (roll < 0.4) return randomText(random)
  return damage(random, roll < 0.6 ? dress(random, query) : query)
}

/** The tree of a text; undefined if it is rejected with a LanguageError. */
export function read(text: string): ParsedSelect | undefined {
  try {
    return parseSelect(text)
  } catch (fault) {
    if (!(fault instanceof LanguageError) || fault.at < 0 || fault.at > text.length) throw fault
    return undefined
  }
}

/** The tree of a text that was parsed in time; undefined if it is rejected. */
export function readInTime(text: string): ParsedSelect | undefined {
  return inTime(() => read(text))
}

/** Repeats work that took too long: only work that is slow every time counts as slow. */
export function inTime<Result>(work: () => Result): Result {
  let took = 0
  for (let attempt = 0; attempt < 4; attempt++) {
    const start = performance.now()
    const result = work()
    took = performance.now() - start
    if (took <= LONGEST) return result
  }
  throw new Error(`this took ${took} ms`)
}

/** Burns time. */
export function spin(milliseconds: number): string {
  const end = performance.now() + milliseconds
  while (performance.now() < end) {
    // Burns time.
  }
  return 'late'
}

/** The text that a tree prints to, after it was parsed back. */
function assertPrinted(tree: ParsedSelect): string {
  const printed = printSelect(tree)
  if (isDeepStrictEqual(withoutPlaces(parseSelect(printed)), withoutPlaces(tree))) return printed
  throw new Error(`printed otherwise: ${printed}`)
}

/** Throws if PostgreSQL reads the query otherwise. */
export function assertReadAlike(text: string): void {
  const ours = toReading(parseSelect(text))
  const theirs = readAsPostgres(text)
  if (isDeepStrictEqual(ours, theirs)) return
  throw new Error(`${text}\nwe read ${JSON.stringify(ours)}\nPostgreSQL ${JSON.stringify(theirs)}`)
}
