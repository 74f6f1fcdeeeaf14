/** The grammar of statements: from text to its words and names, each where it stands. */
import { say, words } from '../errors.ts'
import type { Expression, Placed } from '../expressions/ast.ts'
import { parseExpression } from '../expressions/expression-parser.ts'
import { LexemeCursor } from '../expressions/lexeme-cursor.ts'
import { TextFault } from '../expressions/text-fault.ts'

const AFTER_CONDITION = 'AND, OR or the end'

/** A word of a statement. */
interface ReadWord extends Placed {
  readonly word: string
}

/** What a statement is about. */
interface ReadTarget extends Placed {
  readonly table: string | undefined
  readonly column: string | undefined
}

/** A statement whose words may still be none that a policy knows. */
export interface ReadStatement {
  readonly effect: ReadWord
  readonly actions: readonly ReadWord[]
  readonly targets: readonly ReadTarget[]
  readonly level: ReadWord | undefined
  /** The condition, which stands between the offsets `from` and `to`. */
  readonly where: { readonly expression: Expression; readonly from: number; readonly to: number } | undefined
}

/**
 * Reads a statement. Throws TextFault.
 *
 *     statement = effect word { ',' word } ON target { ',' target } [ WITH REDACTION '=' word ] [ WHERE expression ] [ ';' ]
 */
export function readStatementText(text: string): ReadStatement {
  const cursor = new LexemeCursor(text)
  const effect = readWord(cursor, 'ALLOW or DENY')
  const actions = readList(cursor, () => readWord(cursor, 'an action such as READ or ALL'))
  expectWord(cursor, 'ON')
  const targets = readList(cursor, () => readTarget(cursor))
  const level = readLevel(cursor)
  const where = cursor.takeWord('where') ? readWhere(cursor) : undefined
  cursor.takeSymbol(';')
  if (cursor.atEnd()) return { effect, actions, targets, level, where }
  throw expected(
    cursor,
    where !== undefined ? AFTER_CONDITION : level !== undefined ? 'WHERE or the end' : '",", WITH, WHERE or the end',
  )
}

/** Reads a condition that stands alone. Throws TextFault. */
export function readConditionText(text: string): Expression {
  const cursor = new LexemeCursor(text)
  const expression = parseExpression(cursor)
  if (cursor.atEnd()) return expression
  throw expected(cursor, AFTER_CONDITION)
}

function readList<Item>(cursor: LexemeCursor, readItem: () => Item): Item[] {
  const items = [readItem()]
  while (cursor.takeSymbol(',')) items.push(readItem())
  return items
}

/** Any word, reserved ones too: ALL is one. Which words there are is not grammar. */
function readWord(cursor: LexemeCursor, what: string): ReadWord {
  if (cursor.peek().kind !== 'word' || cursor.atWord('on')) throw expected(cursor, what)
  const { text, at } = cursor.next()
  return { word: text, at }
}

/** `target = '*' | name '.' '*' | name '.' name` */
function readTarget(cursor: LexemeCursor): ReadTarget {
  const { at } = cursor.peek()
  if (cursor.takeSymbol('*')) return { at, table: undefined, column: undefined }
  const table = readName(cursor, '*, table.* or table.column')
  expectSymbol(cursor, '.')
  if (cursor.takeSymbol('*')) return { at, table, column: undefined }
  return { at, table, column: readName(cursor, 'a column or *') }
}

function readLevel(cursor: LexemeCursor): ReadWord | undefined {
  if (!cursor.takeWord('with')) return undefined
  expectWord(cursor, 'REDACTION')
  expectSymbol(cursor, '=')
  return readWord(cursor, 'PLAIN_TEXT, MASKED, REDACTED or DEFAULT')
}

function readWhere(cursor: LexemeCursor): NonNullable<ReadStatement['where']> {
  const from = cursor.peek().at
  const expression = parseExpression(cursor)
  return { expression, from, to: cursor.peek().at }
}

function readName(cursor: LexemeCursor, what: string): string {
  if (!cursor.atName()) throw expected(cursor, what)
  return cursor.expectName(what).name
}

function expectWord(cursor: LexemeCursor, word: string): void {
  if (!cursor.takeWord(word.toLowerCase())) throw expected(cursor, word)
}

function expectSymbol(cursor: LexemeCursor, symbol: string): void {
  if (!cursor.takeSymbol(symbol)) throw expected(cursor, `"${symbol}"`)
}

/** A statement has its own words, so what stands in their place is no construct of the query language that could be named. */
function expected(cursor: LexemeCursor, what: string): TextFault {
  return new TextFault('syntax', say`Expected ${words(what)}.`, cursor.peek().at)
}
