/** The syntax tree of a SELECT. */
import type { ColumnIdentifier, Expression, Literal, Parameter, Placed } from '../expressions/ast.ts'

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

/** Functions over all rows. */
export type AggregateName = 'avg' | 'sum' | 'count' | 'min' | 'max'

/**
 * One item of the select list. `alias` is undefined without one. `text` is the item as written, in lower case and without blanks and
 * comments, as in `count(*)`.
 */
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
  /** `column` is undefined for `COUNT(*)`. */
  | ({
      readonly kind: 'aggregate'
      readonly name: AggregateName
      readonly column: ColumnIdentifier | undefined
      readonly alias: string | undefined
      readonly text: string
    } & Placed)

/** A query. `limit` and `offset` are integers from 0, or undefined if absent. */
export interface Select<Bound = number> {
  readonly items: readonly SelectItem[]
  readonly from: FromTable
  readonly joins: readonly Join[]
  readonly where: Expression | undefined
  readonly limit: Bound | undefined
  readonly offset: Bound | undefined
}

/** A query as it is parsed: with parameters in the places of values that are not in the text. */
export type ParsedSelect = Select<number | Parameter>
