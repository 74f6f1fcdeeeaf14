/** Parses a query: text to the syntax tree of one SELECT. Other SQL gives an error with its name and position. */
import { say, words } from '../errors.ts'
import type { Expression, Parameter } from '../expressions/ast.ts'
import { parseExpression, takeSigns } from '../expressions/expression-parser.ts'
import { LanguageError } from '../expressions/language-error.ts'
import { LexemeCursor, type PlacedName } from '../expressions/lexeme-cursor.ts'
import { unexpectedStatement, unsupported } from '../expressions/unsupported.ts'
import { MAX_PATTERNS, QUERY_LIMITS, type QueryLimits } from '../limits.ts'
import { assertAlias, atBareAlias, parseItems } from './parse-items.ts'
import { parseGroupBy, parseOrderBy } from './parse-order.ts'
import { type FromTable, type Join, type JoinKind, type ParsedSelect, wholeNumber } from './select.ts'

/**
 * Parses a query. Its parameters have no values yet. Throws `LanguageError` of kind `syntax`, `unsupported`, `limit`, `range` or `name`.
 *
 *     query = SELECT [ ALL ] items FROM table { join } [ WHERE expression ] [ groups ] [ order ] [ window ] { ';' }
 */
export function parseSelect(text: string, limits: QueryLimits = QUERY_LIMITS): ParsedSelect {
  const cursor = new LexemeCursor(text, limits, { hasParameters: true, isExtended: limits.queryExtensions })
  if (!cursor.takeWord('select')) throw unexpectedStatement(cursor.peek())
  cursor.takeWord('all')
  const items = parseItems(cursor)
  expectFrom(cursor)
  const from = parseTable(cursor)
  const joins = parseJoins(cursor)
  const where = cursor.takeWord('where') ? parseExpression(cursor) : undefined
  const groupBy = parseGroupBy(cursor)
  const orderBy = parseOrderBy(cursor)
  const { limit, offset } = parseWindow(cursor)
  expectEnd(cursor)
  assertFewPatterns(cursor)
  return { items, from, joins, where, groupBy, orderBy, limit, offset }
}

/** Limits the patterns. Each is matched with the text of a row without a pause, so many of them would block the event loop. */
function assertFewPatterns(cursor: LexemeCursor): void {
  if (cursor.count('like', 'ilike') <= MAX_PATTERNS) return
  throw new LanguageError('limit', say`A query can have at most ${MAX_PATTERNS} LIKE and ILIKE.`, 0)
}

function expectFrom(cursor: LexemeCursor): void {
  if (cursor.atEnd() || cursor.atSymbol(';') || cursor.atWord('where', 'limit', 'offset')) {
    throw unsupported('SELECT without FROM', cursor.peek().at)
  }
  if (cursor.atWord('into')) throw unsupported('SELECT INTO', cursor.peek().at)
  cursor.expectWord('from')
}

/** `table = name [ [ AS ] name ]` */
function parseTable(cursor: LexemeCursor): FromTable {
  const { name: table, at } = expectTableName(cursor)
  const alias = parseTableAlias(cursor)
  if (alias !== undefined && cursor.atSymbol('(')) throw unsupported('A list of columns after an alias', cursor.peek().at)
  return { table, alias: alias?.name ?? table, at }
}

function expectTableName(cursor: LexemeCursor): PlacedName {
  const { at } = cursor.peek()
  if (cursor.atSymbol('(')) throw unsupported('Anything but a table in FROM', at)
  const name = cursor.expectName('a table')
  if (cursor.atSymbol('(')) throw unsupported('Anything but a table in FROM', at)
  if (cursor.atSymbol('.')) throw unsupported('A schema before a table', at)
  return name
}

function parseTableAlias(cursor: LexemeCursor): PlacedName | undefined {
  const hasAs = cursor.takeWord('as')
  if (!hasAs && !atBareAlias(cursor)) return undefined
  const alias = cursor.expectName('an alias')
  assertAlias(alias)
  return alias
}

/** `join = kind table ON expression` */
function parseJoins(cursor: LexemeCursor): readonly Join[] {
  const joins: Join[] = []
  for (;;) {
    const { at } = cursor.peek()
    const kind = takeJoinKind(cursor)
    if (kind === undefined) return joins
    joins.push({ kind, table: parseTable(cursor), on: parseOn(cursor), at })
  }
}

const OUTER_KINDS = ['left', 'right', 'full'] as const
const JOIN_WORDS = ['join', 'inner', ...OUTER_KINDS] as const

/** `kind = [ INNER ] JOIN | ( LEFT | RIGHT | FULL ) [ OUTER ] JOIN` */
function takeJoinKind(cursor: LexemeCursor): JoinKind | undefined {
  if (cursor.atSymbol(',')) throw unsupported('A list of tables (write JOIN and ON)', cursor.peek().at)
  const outer = OUTER_KINDS.find((kind) => cursor.takeWord(kind))
  if (outer !== undefined) {
    cursor.takeWord('outer')
    cursor.expectWord('join')
    return outer
  }
  if (cursor.takeWord('inner')) cursor.expectWord('join')
  else if (!cursor.takeWord('join')) return undefined
  return 'inner'
}

function parseOn(cursor: LexemeCursor): Expression {
  if (JOIN_WORDS.some((word) => cursor.atWord(word))) throw unsupported('A join within a join', cursor.peek().at)
  cursor.expectWord('on')
  return parseExpression(cursor)
}

type Bound = number | Parameter | undefined

/** `window = { LIMIT bound | OFFSET bound }`, each at most once. `bound = number | parameter` */
function parseWindow(cursor: LexemeCursor): Pick<ParsedSelect, 'limit' | 'offset'> {
  const window: { limit: Bound; offset: Bound } = { limit: undefined, offset: undefined }
  for (;;) {
    const { at } = cursor.peek()
    const bound = (['limit', 'offset'] as const).find((word) => cursor.takeWord(word))
    if (bound === undefined) return window
    if (window[bound] !== undefined) throw new LanguageError('syntax', say`${words(bound.toUpperCase())} appears twice.`, at)
    window[bound] = cursor.takeParameter() ?? parseWholeNumber(cursor)
    if (cursor.atSymbol(',')) throw unsupported('LIMIT with two numbers (write OFFSET)', cursor.peek().at)
  }
}

function parseWholeNumber(cursor: LexemeCursor): number {
  const { at } = cursor.peek()
  if (cursor.atWord('null')) throw unsupported('LIMIT or OFFSET of NULL', at)
  const isNegative = takeSigns(cursor) === '-'
  const { kind, text } = cursor.peek()
  if (kind !== 'number') throw cursor.unexpected('an integer')
  cursor.next()
  return wholeNumber(isNegative ? `-${text}` : text, at)
}

function expectEnd(cursor: LexemeCursor): void {
  let isEnded = false
  while (cursor.takeSymbol(';')) isEnded = true
  if (cursor.atEnd()) return
  if (isEnded) throw unsupported('A second statement', cursor.peek().at)
  throw cursor.unexpected('the end of the query')
}
