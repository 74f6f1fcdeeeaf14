/** The names of a query's tables and columns, and errors of its text as faults with line and column. */
import { type ErrorDetail, Fault, printableName, type Sentence, say, words } from '../errors.ts'
import type { ColumnIdentifier } from '../expressions/ast.ts'
import type { ColumnRef } from '../expressions/condition.ts'
import { LANGUAGE_ERROR_CODES, LanguageError, lineAndColumn } from '../expressions/language-error.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Source } from './query.ts'
import type { FromTable } from './select.ts'

/** The sources whose columns are in scope, and the name of the record id. */
export interface Scope {
  readonly sources: readonly Source[]
  readonly idName: string
}

/** Returns the column of a name. Throws a `name` error if there is none or more than one. */
export function findColumn(scope: Scope, name: ColumnIdentifier): ColumnRef {
  const sources = name.table === undefined ? scope.sources : [findSource(scope, name.table, name.at)]
  const found = sources.flatMap((source) => refIn(source, scope.idName, name.name) ?? [])
  const [only, other] = found
  if (only === undefined) throw unknownQueryColumn(name)
  if (other === undefined) return only
  throw new LanguageError('name', say`Column ${name.name} is in more than one table. Write the table's name before it.`, name.at)
}

/** Returns the source of an alias. Throws a `name` error if there is none. */
export function findSource(scope: Scope, alias: string, at: number): Source {
  const source = scope.sources.find((one) => one.alias === alias)
  if (source !== undefined) return source
  throw new LanguageError(
    'name',
    say`Table ${alias} is not joined at this point. Name it in FROM or JOIN before, or use its alias.`,
    at,
  )
}

/** The error for an unknown column, and for one that the caller cannot see. */
export function unknownQueryColumn({ table, name, at }: ColumnIdentifier): LanguageError {
  const where = table === undefined ? words('') : say` of table ${table}`
  return new LanguageError('name', say`Column ${name}${where} is invalid. Specify a valid column.`, at)
}

/** True if the caller can know that the column exists. */
export function isKnown({ access }: Source, column: Column): boolean {
  return access.possiblyVisible(column) || access.possiblyAllows('SEARCH', column)
}

function refIn(source: Source, idName: string, name: string): ColumnRef | undefined {
  if (name === idName) return { source: source.index, column: undefined }
  const column = source.table.byName.get(name)
  return column === undefined || !isKnown(source, column) ? undefined : { source: source.index, column }
}

/** Returns the result of `work`. A `LanguageError` is thrown as a fault with line and column. */
export function withQueryErrors<T>(text: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof LanguageError) throw toQueryError(text, error)
    throw error
  }
}

/** The fault for an error of this text: the code of its kind, with line and column. */
export function toQueryError(text: string, { kind, at, sentence }: LanguageError): Fault {
  return new Fault(LANGUAGE_ERROR_CODES[kind], sentenceAt(text, at, sentence), { position: positionIn(text, at) })
}

/** The fault for a table of FROM that is not in the schema: `not_found`. */
export function unknownTableError(text: string, { table, at }: Pick<FromTable, 'table' | 'at'>): Fault {
  const sentence = say`Table ${table} does not exist. Specify a table of the schema.`
  return new Fault('not_found', sentenceAt(text, at, sentence), { table: printableName(table), position: positionIn(text, at) })
}

/** What can begin at the place of an error: a name or a parameter, a quoted text, a number, an operator, or one character. */
const LEXEME = /[\p{L}_$][\p{L}\p{N}_]*|'(?:[^']|'')*'?|"[^"]*"?|[0-9.]+|[<>=!|]+|./suy

/** Returns the line and the column of an offset, and the length of the lexeme that begins there. */
function positionIn(text: string, at: number): NonNullable<ErrorDetail['position']> {
  LEXEME.lastIndex = at
  return { ...lineAndColumn(text, at), length: LEXEME.exec(text)?.[0].length ?? 0 }
}

function sentenceAt(text: string, at: number, sentence: Sentence): Sentence {
  const { line, column } = lineAndColumn(text, at)
  return say`Line ${line}, column ${column}: ${sentence}`
}
