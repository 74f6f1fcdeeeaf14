/** Parses GROUP BY and ORDER BY. */
import type { ColumnIdentifier } from '../expressions/ast.ts'
import type { LexemeCursor } from '../expressions/lexeme-cursor.ts'
import { unsupported } from '../expressions/unsupported.ts'
import { atCall, parseAggregate, parseWrappedColumn } from './parse-items.ts'
import type { Direction, OrderBy } from './select.ts'

/** Returns the columns of GROUP BY; none without it. `groups = GROUP BY wrapped { ',' wrapped }` */
export function parseGroupBy(cursor: LexemeCursor): readonly ColumnIdentifier[] {
  return parseClause(cursor, 'group', () => {
    if (atCall(cursor)) throw unsupported('A function in GROUP BY', cursor.peek().at)
    return parseWrappedColumn(cursor, 'in GROUP BY')
  })
}

/** Returns the terms of ORDER BY; none without it. `order = ORDER BY term { ',' term }` */
export function parseOrderBy(cursor: LexemeCursor): readonly OrderBy[] {
  return parseClause(cursor, 'order', () => {
    const { at } = cursor.peek()
    const by = atCall(cursor) ? parseAggregate(cursor) : parseWrappedColumn(cursor, 'in ORDER BY')
    const direction = takeDirection(cursor)
    if (cursor.atWord('nulls')) throw unsupported('NULLS FIRST and NULLS LAST', cursor.peek().at)
    return { by, direction, at }
  })
}

/** Parses what follows `word BY`. Where the extensions are off, there is no such clause, and the error of the word is the end's. */
function parseClause<Part>(cursor: LexemeCursor, word: string, parsePart: () => Part): readonly Part[] {
  if (!cursor.isExtended || !cursor.takeWord(word)) return []
  cursor.expectWord('by')
  const parts = [parsePart()]
  while (cursor.takeSymbol(',')) parts.push(parsePart())
  return parts
}

/** `term = ( wrapped | aggregate ) [ ASC | DESC ]` */
function takeDirection(cursor: LexemeCursor): Direction {
  if (cursor.takeWord('desc')) return 'desc'
  cursor.takeWord('asc')
  return 'asc'
}
