/** Parses the text form of statements into words and names with their offsets. */
import { say, words } from '../errors.ts'
import type { Expression, Placed } from '../expressions/ast.ts'
import { parseExpression } from '../expressions/expression-parser.ts'
import { LanguageError } from '../expressions/language-error.ts'
import { LexemeCursor } from '../expressions/lexeme-cursor.ts'

const AFTER_CONDITION = 'AND, OR or the end'

/** A word of a statement. */
interface ReadWord extends Placed {
  readonly word: string
}

/** A target of a statement. */
interface ReadTarget extends Placed {
  readonly table: string | undefined
  readonly column: string | undefined
}

/** A parsed statement. Its words may still be unknown to policies. */
export interface ReadStatement {
  readonly effect: ReadWord
  readonly actions: readonly ReadWord[]
  readonly targets: readonly ReadTarget[]
  readonly level: ReadWord | undefined
  /** The condition and its start and end offsets. */
  readonly where: { readonly expression: Expression; readonly from: number; readonly to: number } | undefined
}

/**
 * Parses a statement. Throws `LanguageError`.
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

/** Parses a text that is one condition. Throws `LanguageError`. */
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

/** Parses any word, reserved ones included: ALL is one. Which words are valid is checked later. */
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

/** The error for an unexpected lexeme. Statements have their own words, so it is never reported as an unsupported SQL construct. */
function expected(cursor: LexemeCursor, what: string): LanguageError {
  return new LanguageError('syntax', say`Expected ${words(what)}.`, cursor.peek().at)
}
