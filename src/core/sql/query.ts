/** A resolved query: names, types, grants and result keys are checked, and no row has been read. */
import type { ColumnRef, Condition } from '../expressions/condition.ts'
import type { Redaction } from '../redaction/levels.ts'
import type { Table } from '../schema/layout.ts'
import type { AggregateName, JoinKind } from './select.ts'
import type { SourceAccess, SourceNeeds } from './source-access.ts'

/** A table in FROM. `index` is its position there, from 0. */
export interface Source {
  readonly index: number
  readonly alias: string
  readonly table: Table
  readonly access: SourceAccess
}

/** How a source is joined to those before it. The first step joins source 1. */
export interface JoinStep {
  readonly kind: JoinKind
  readonly on: Condition
}

/** A column of the result. */
export interface ValueOutput {
  /** Its key in the result records. */
  readonly key: string
  readonly ref: ColumnRef
  /**
   * The requested redaction level: DEFAULT without REDACTION. The value shows at the lower of this and the level granted for the row.
   */
  readonly redaction: Redaction
}

/** An aggregate of the result. Without `ref` it is COUNT(*). */
export interface AggregateOutput {
  readonly key: string
  readonly name: AggregateName
  readonly ref: ColumnRef | undefined
  /** Offset in the query's text, in UTF-16 units. */
  readonly at: number
}

/** The result: one record per row, or one record of aggregates over all rows. */
export type Outputs =
  | { readonly kind: 'rows'; readonly values: readonly ValueOutput[] }
  | { readonly kind: 'totals'; readonly aggregates: readonly AggregateOutput[] }

/** How a query uses a column. */
export type UseKind = 'select' | 'select all' | 'null test' | 'count' | 'equality' | 'comparison' | 'aggregate'

/** One use of a column. */
export interface Use {
  readonly kind: UseKind
  readonly ref: ColumnRef
}

/** A query ready to be planned. */
export interface Query {
  readonly sources: readonly Source[]
  readonly joins: readonly JoinStep[]
  readonly where: Condition
  readonly outputs: Outputs
  /** At most the maximum number of records of one query. */
  readonly limit: number
  /** True if that maximum is the limit, and not one of its text: there can be more records. */
  readonly mayBeCut: boolean
  readonly offset: number
  readonly uses: readonly Use[]
  /** By source. */
  readonly needs: readonly SourceNeeds[]
}
