/** Parses the select list. */
import { say } from '../errors.ts'
import { type ColumnIdentifier, EXTENDED_RELATIONS, type Literal } from '../expressions/ast.ts'
import { parseColumn } from '../expressions/expression-parser.ts'
import { LanguageError } from '../expressions/language-error.ts'
import type { LexemeCursor, PlacedName } from '../expressions/lexeme-cursor.ts'
import { unsupported } from '../expressions/unsupported.ts'
import { MAX_NAME_LENGTH } from '../limits.ts'
import type { AggregateCall, AggregateName, SelectItem } from './select.ts'

/** `items = item { ',' item }` */
export function parseItems(cursor: LexemeCursor): readonly SelectItem[] {
  const items = [parseItem(cursor)]
  while (cursor.takeSymbol(',')) items.push(parseItem(cursor))
  return items
}

/**
 * Words that are names, but not aliases without AS. They are the key words that PostgreSQL marks "requires AS", and words that give a
 * better error as an unsupported construct.
 */
const NEEDS_AS: ReadonlySet<string> = new Set(
  `array char character collate create day fetch filter for grant hour into isnull minute month notnull over overlaps precision
  returning second similar tablesample to varying window within without year`.split(/\s+/),
)

/** True if the current lexeme is an alias without AS. */
export function atBareAlias(cursor: LexemeCursor): boolean {
  const { kind, text } = cursor.peek()
  return cursor.atName() && (kind === 'quoted' || !NEEDS_AS.has(text))
}

/** Throws `LanguageError` for an alias that cannot be a key of a result record. */
export function assertAlias({ name, at }: PlacedName): void {
  if (name.length > MAX_NAME_LENGTH)
    throw new LanguageError('limit', say`This alias is longer than ${MAX_NAME_LENGTH} characters.`, at)
  // A result is a JavaScript object, in which this key sets the prototype.
  if (name === '__proto__') throw new LanguageError('name', say`This alias is reserved. Use another.`, at)
}

/** `item = '*' | name '.' '*' | ( call | wrapped ) [ [ AS ] name ]` */
function parseItem(cursor: LexemeCursor): SelectItem {
  const { at } = cursor.peek()
  if (cursor.takeSymbol('*')) return { kind: 'star', table: undefined, at }
  if (atCall(cursor)) return parseCall(cursor)
  if (symbolAhead(cursor, 1) === '.' && symbolAhead(cursor, 2) === '*') return parseTableStar(cursor)
  const column = parseWrappedColumn(cursor, 'in the select list')
  return { kind: 'value', column, alias: parseAlias(cursor), at }
}

function parseTableStar(cursor: LexemeCursor): SelectItem {
  const { name: table, at } = cursor.expectName('a table')
  cursor.next()
  cursor.next()
  refuseConditions(cursor)
  return { kind: 'star', table, at }
}

const AGGREGATES: readonly AggregateName[] = ['avg', 'sum', 'count', 'min', 'max']

/** True if the current lexeme is the name of a function. */
export function atCall(cursor: LexemeCursor): boolean {
  return cursor.peek().kind === 'word' && symbolAhead(cursor, 1) === '('
}

/** `call = aggregate | REDACTION '(' column ',' text ')'` */
function parseCall(cursor: LexemeCursor): SelectItem {
  const { at } = cursor.peek()
  if (!cursor.takeWord('redaction')) return { kind: 'aggregate', ...parseAggregate(cursor), alias: parseAlias(cursor) }
  cursor.expectSymbol('(')
  return parseRedaction(cursor, at)
}

/** `aggregate = name '(' argument ')'` */
export function parseAggregate(cursor: LexemeCursor): AggregateCall {
  const { text, at } = cursor.peek()
  const name = AGGREGATES.find((aggregate) => aggregate === text)
  if (name === undefined) {
    throw cursor.atName()
      ? unsupported('A function other than AVG, COUNT, MAX, MIN, REDACTION and SUM', at)
      : cursor.unexpected('a column')
  }
  cursor.next()
  cursor.expectSymbol('(')
  const argument = parseArgument(cursor, name)
  cursor.expectSymbol(')')
  const { column, isDistinct } = argument
  return { name, ...argument, text: `${name}(${isDistinct ? 'distinct ' : ''}${columnText(column)})`, at }
}

/** `argument = '*' | [ ALL | DISTINCT ] wrapped`. `*` and DISTINCT are only for COUNT. */
function parseArgument(cursor: LexemeCursor, name: AggregateName): Pick<AggregateCall, 'column' | 'isDistinct'> {
  if (name === 'count' && cursor.takeSymbol('*')) return { column: undefined, isDistinct: false }
  const isDistinct = cursor.isExtended && name === 'count' && cursor.takeWord('distinct')
  if (!isDistinct) cursor.takeWord('all')
  return { column: parseWrappedColumn(cursor, 'in a function'), isDistinct }
}

/**
 * Parses a column, also in parentheses. Throws `LanguageError` for values and expressions, which SQL allows in this `place` and the subset
 * does not.
 *
 *     wrapped = column | '(' wrapped ')'
 */
export function parseWrappedColumn(cursor: LexemeCursor, place: string): ColumnIdentifier {
  const { at } = cursor.peek()
  if (atValue(cursor)) throw unsupported(`A value ${place}`, at)
  if (cursor.atWord('not')) throw unsupported(`An expression ${place}`, at)
  if (!cursor.takeSymbol('(')) return parseColumn(cursor)
  return cursor.nested(at, () => {
    const column = parseWrappedColumn(cursor, place)
    if (!cursor.takeSymbol(')')) throw unsupported(`An expression ${place}`, at)
    return column
  })
}

function parseRedaction(cursor: LexemeCursor, at: number): SelectItem {
  const column = parseWrappedColumn(cursor, 'in a function')
  cursor.expectSymbol(',')
  const level = parseLevel(cursor)
  cursor.expectSymbol(')')
  return { kind: 'redaction', column, level, alias: parseAlias(cursor), at }
}

function parseLevel(cursor: LexemeCursor): Literal {
  const { kind, text, at } = cursor.peek()
  if (kind !== 'text' && kind !== 'quoted') throw cursor.unexpected('a level in quotes')
  cursor.next()
  return { kind: 'text', text, at }
}

function parseAlias(cursor: LexemeCursor): string | undefined {
  const hasAs = cursor.takeWord('as')
  if (!hasAs && !atBareAlias(cursor)) {
    refuseConditions(cursor)
    return undefined
  }
  const alias = cursor.expectName('an alias')
  assertAlias(alias)
  return alias.name
}

function refuseConditions(cursor: LexemeCursor): void {
  const isCondition =
    cursor.atSymbol('=', '<', '>', '?') || cursor.atWord('and', 'or', 'not', 'is', 'like', 'ilike', 'isnull', 'notnull')
  const isExtended = cursor.isExtended && EXTENDED_RELATIONS.has(cursor.peek().text)
  if (isCondition || isExtended) throw unsupported('A condition in the select list', cursor.peek().at)
}

function atValue(cursor: LexemeCursor): boolean {
  const { kind } = cursor.peek()
  return kind === 'text' || kind === 'number' || kind === 'parameter' || cursor.atWord('true', 'false', 'null')
}

function columnText(column: ColumnIdentifier | undefined): string {
  if (column === undefined) return '*'
  return column.table === undefined ? column.name : `${column.table}.${column.name}`
}

function symbolAhead(cursor: LexemeCursor, ahead: number): string | undefined {
  const { kind, text } = cursor.peek(ahead)
  return kind === 'symbol' ? text : undefined
}
