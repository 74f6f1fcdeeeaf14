/** The syntax tree of a SELECT, and the replacement of its literals and parameters. */
import { say } from '../errors.ts'
import {
  type ColumnIdentifier,
  type Constant,
  type Expression,
  type Literal,
  type Parameter,
  type Placed,
  replaceConstants,
} from '../expressions/ast.ts'
import { LanguageError } from '../expressions/language-error.ts'

/** A table in FROM. Without an alias, `alias` is the table's name. */
export interface FromTable extends Placed {
  readonly table: string
  readonly alias: string
}

/** How a table is joined to those before it. */
export type JoinKind = 'inner' | 'left' | 'right' | 'full'

/** A joined table and its condition. */
export interface Join extends Placed {
  readonly kind: JoinKind
  readonly table: FromTable
  readonly on: Expression
}

/** Functions over all rows, or over those of each group. */
export type AggregateName = 'avg' | 'sum' | 'count' | 'min' | 'max'

/**
 * A function over rows. `column` is undefined for `COUNT(*)`. `text` is the call as written, in lower case and without needless blanks and
 * comments, as in `count(*)` or `count(distinct name)`.
 */
export interface AggregateCall extends Placed {
  readonly name: AggregateName
  readonly column: ColumnIdentifier | undefined
  /** True for COUNT(DISTINCT column): equal values count once. */
  readonly isDistinct: boolean
  readonly text: string
}

/** One item of the select list. `alias` is undefined without one. */
export type SelectItem =
  /** `*` or `t.*`. */
  | ({ readonly kind: 'star'; readonly table: string | undefined } & Placed)
  | ({ readonly kind: 'value'; readonly column: ColumnIdentifier; readonly alias: string | undefined } & Placed)
  /** `REDACTION(t.ssn, 'MASKED')`. Resolving checks the level. */
  | ({
      readonly kind: 'redaction'
      readonly column: ColumnIdentifier
      readonly level: Literal
      readonly alias: string | undefined
    } & Placed)
  | ({ readonly kind: 'aggregate'; readonly alias: string | undefined } & AggregateCall)

/** The direction of an order. */
export type Direction = 'asc' | 'desc'

/** One term of ORDER BY. A name is that of an output or, if there is none, of a column. */
export interface OrderBy extends Placed {
  readonly by: ColumnIdentifier | AggregateCall
  readonly direction: Direction
}

/** A query. `limit` and `offset` are integers from 0, or undefined if absent. */
export interface Select<Bound = number> {
  readonly items: readonly SelectItem[]
  readonly from: FromTable
  readonly joins: readonly Join[]
  readonly where: Expression | undefined
  readonly groupBy: readonly ColumnIdentifier[]
  readonly orderBy: readonly OrderBy[]
  readonly limit: Bound | undefined
  readonly offset: Bound | undefined
}

/** A query as it is parsed: with parameters in the places of values that are not in the text. */
export type ParsedSelect = Select<number | Parameter>

/** Returns the query with each literal and parameter of WHERE and ON replaced. All else is the same. */
export function replaceInSelect<Bound>(select: Select<Bound>, replaced: (constant: Constant) => Constant): Select<Bound> {
  const joins = select.joins.map((join) => ({ ...join, on: replaceConstants(join.on, replaced) }))
  return { ...select, joins, where: select.where === undefined ? undefined : replaceConstants(select.where, replaced) }
}

/** Returns the integer that a text spells. Throws `LanguageError` for any other number. */
export function wholeNumber(text: string, at: number): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(number)) return number
  throw new LanguageError('range', say`Expected an integer from 0 to ${Number.MAX_SAFE_INTEGER}.`, at)
}
