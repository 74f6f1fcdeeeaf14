/**
 * SQL constructs outside the subset, by the lexeme that shows them. An error names the construct from this list, never text of the query.
 */
import { say, words } from '../errors.ts'
import { LanguageError } from './language-error.ts'
import type { Lexeme } from './lexer.ts'

const CONSTRUCTS: ReadonlyMap<string, string> = new Map([
  ...['all', 'any', 'array', 'between', 'case', 'cast', 'collate', 'distinct', 'escape', 'except', 'exists', 'fetch'].map(
    inCapitals,
  ),
  ...['filter', 'glob', 'having', 'in', 'intersect', 'interval', 'into', 'lateral', 'match', 'natural', 'over'].map(inCapitals),
  ...['overlaps', 'qualify', 'regexp', 'returning', 'rlike', 'some', 'tablesample', 'union', 'using', 'values'].map(inCapitals),
  ...['window', 'with', 'within'].map(inCapitals),
  ['at', 'AT TIME ZONE'],
  ['cross', 'CROSS JOIN'],
  ['for', 'FOR UPDATE or FOR SHARE'],
  ['group', 'GROUP BY'],
  ['order', 'ORDER BY'],
  ['rows', 'OFFSET ROWS'],
  ['select', 'A subquery'],
  ['similar', 'SIMILAR TO'],
])

const SIGNS: ReadonlyMap<string, string> = new Map([
  ...['<=', '>=', '<>', '!=', '==', '||', '::', ':='].map((sign): [string, string] => [sign, sign]),
  ...['+', '-', '*', '/', '%', '^'].map((sign): [string, string] => [sign, 'Arithmetic']),
  ...['~', '!~', '~*', '!~*'].map((sign): [string, string] => [sign, 'A regular expression']),
  ...['?', '$', ':'].map((sign): [string, string] => [sign, 'A parameter other than $1, $2']),
  ...['[', ']'].map((sign): [string, string] => [sign, 'An array or subscript']),
])

/** What the extensions of queries have of the constructs above. Where they are on, a misplaced one is a syntax error. */
const EXTENSIONS: ReadonlySet<string> = new Set(['between', 'group', 'in', 'order', '<=', '>=', '<>', '!='])

/** Symbols of the language. A misplaced one is a syntax error, not an unsupported construct. */
const OWN_SIGNS: ReadonlySet<string> = new Set(['(', ')', ',', '.', ';', '=', '<', '>'])

const STATEMENTS: ReadonlySet<string> = new Set(
  `alter analyse analyze attach begin call checkpoint close cluster comment commit copy create deallocate declare delete describe
  detach discard do drop end execute explain fetch grant import insert listen load lock merge notify pragma prepare reassign refresh
  reindex release replace reset revoke rollback savepoint security set show start table truncate unlisten update use vacuum values
  with`.split(/\s+/),
)

/** The error for an unsupported construct. `construct` begins a sentence: "ORDER BY", "A subquery". */
export function unsupported(construct: string, at: number): LanguageError {
  return new LanguageError('unsupported', say`${words(construct)} is not supported.`, at)
}

/** The error for an unexpected lexeme: the unsupported construct it shows, otherwise what was expected. */
export function unexpectedLexeme(
  lexeme: Lexeme,
  expected: string,
  { isExtended }: { readonly isExtended: boolean },
): LanguageError {
  const construct = isExtended && EXTENSIONS.has(lexeme.text) ? undefined : constructAt(lexeme)
  return construct === undefined
    ? new LanguageError('syntax', say`Expected ${words(expected)}.`, lexeme.at)
    : unsupported(construct, lexeme.at)
}

/** The error for a text that does not begin with SELECT. */
export function unexpectedStatement(lexeme: Lexeme): LanguageError {
  if (lexeme.kind === 'symbol' && lexeme.text === '(') return unsupported('A query in parentheses', lexeme.at)
  if (lexeme.kind !== 'word' || !STATEMENTS.has(lexeme.text)) return new LanguageError('syntax', say`Expected SELECT.`, lexeme.at)
  return unsupported(`${lexeme.text.toUpperCase()} at the beginning of a statement`, lexeme.at)
}

function constructAt({ kind, text }: Lexeme): string | undefined {
  if (kind === 'word') return CONSTRUCTS.get(text)
  if (kind === 'parameter') return 'A parameter in this place'
  if (kind !== 'symbol' || OWN_SIGNS.has(text)) return undefined
  return SIGNS.get(text) ?? 'This operator'
}

function inCapitals(word: string): [string, string] {
  return [word, word.toUpperCase()]
}
