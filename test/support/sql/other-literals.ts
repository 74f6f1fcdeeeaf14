/** Replaces the literals in the text of a query, so that texts arise that differ only in literals. */
import type { SeededRandom } from '../random/seeded-random.ts'

/** Texts that a column of some type refuses or reads specially: patterns, dates, ids, levels, texts with quotes. */
const TEXTS = [
  ...['', 'a', 'b', '1', '-1', '0.5', 'true', 'off', 'maybe', "it's", "''", '%', 'a%', '_', 'a\\', '\\%', 'MASKED', 'plain_text'],
  ...[
    '2020-01-01',
    '2020-02-30',
    '12:30:00',
    '2020-01-01T00:00:00Z',
    '{}',
    '--',
    '/*',
    '"',
    'limit 5',
    '\u0000',
    '\u0001',
    'é',
    '😀',
  ],
  ...['00000000-0000-4000-8000-000000000000', 'x'.repeat(1100)],
]
/** Numbers that columns read as integers, as doubles or not at all. */
const NUMBERS = [
  ...['0', '1', '2', '5', '25', '26', '5.5', '.5', '1.', '1e3', '1E-7', '9007199254740993', '9223372036854775807'],
  ...['9223372036854775808', '1e400', '1e999999999999', '007', '2147483648'],
]

/** A text or a number in a query. */
const LITERAL = /'(?:[^']|'')*'|(?<![\w.$])(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?(?![\w.$])/gi

/** Returns the query with some of its literals replaced, mostly by others of their kind. */
export function withOtherLiterals(random: SeededRandom, text: string): string {
  return text.replaceAll(LITERAL, (literal) => {
    const roll = random()
    if (roll < 0.2) return literal
    const isText = literal.startsWith("'")
    if (roll < 0.25) return isText ? random.pick(NUMBERS) : `'${random.pick(TEXTS).replaceAll("'", "''")}'`
    if (roll < 0.3) return `-${random.pick(NUMBERS)}`
    return isText ? `'${random.pick(TEXTS).replaceAll("'", "''")}'` : random.pick(NUMBERS)
  })
}
