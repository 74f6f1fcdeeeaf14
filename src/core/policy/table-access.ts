/** One caller's access to one table. It is decided from the policy alone where possible, otherwise row by row. */
import type { Condition } from '../expressions/condition.ts'
import type { Redaction, RedactionLevel } from '../redaction/levels.ts'
import type { Column, ColumnView, Table } from '../schema/layout.ts'
import type { Action } from './actions.ts'
import type { StatementOrigin } from './rule.ts'

/** A grant that a request requires of a row: an action on each of these columns or, without columns, on at least one. */
export interface RequiredGrant {
  readonly action: Action
  readonly columns: readonly Column[]
}

/** The grants of a row, or of every row if no condition decides. */
export interface RowAccess {
  /** Highest level READ shows of this column; undefined if it is hidden. */
  level(column: Column): RedactionLevel | undefined
  /** The views of those columns that READ shows, at the lower of the requested and the granted level. */
  views(columns: readonly Column[], asked: Redaction): readonly ColumnView[]
  /** The view of one column, as `views` has it; undefined if READ does not show it. */
  view(column: Column, asked: Redaction): ColumnView | undefined
  /**
   * True if the action is granted on the column. READ at PLAIN_TEXT also grants SEARCH, and so does CREATE or UPDATE on a unique column.
   */
  allows(action: Action, column: Column): boolean
  /** True if the row has all required grants. */
  meets(need: RequiredGrant): boolean
}

/**
 * One caller's access to one table. `conditions` are the WHERE clauses of the caller's statements with the context's values; source 0 is
 * the table. An ALLOW applies if its condition is true, a DENY unless its condition is false.
 */
export interface TableAccess {
  readonly table: Table
  /** True if some statement grants an action other than AUDIT here. If false, every operation on the table throws `forbidden`. */
  readonly hasAnyGrant: boolean
  readonly conditions: readonly Condition[]
  /** Columns of the conditions; empty if no row needs to be evaluated. */
  readonly conditionColumns: readonly Column[]
  /** The statements whose condition decides in each row what READ and SEARCH grant on this column, and the columns of that condition. */
  rowStatements(column: Column): readonly (Omit<StatementOrigin, 'text'> & { readonly columns: readonly string[] })[]
  /** True if some row can grant the action on this column. If false, the column is treated as unknown for that action. */
  possiblyAllows(action: Action, column: Column): boolean
  /** True if some row can show this column by READ, at any level. */
  possiblyVisible(column: Column): boolean
  /** The highest level that some row can show of this column; undefined if every row hides it. */
  highestLevel(column: Column): RedactionLevel | undefined
  /** True if some row can have the required grants. */
  possiblyMeets(need: RequiredGrant): boolean
  /** True if every row has the required grants, whatever its values. */
  alwaysMeets(need: RequiredGrant): boolean
  /** The grants of a row, given the truth of each condition in it. Equal truths return the same object. */
  forRow(truths: readonly (boolean | undefined)[]): RowAccess
  /** The grants of a transient value, or of any row if there are no conditions. A transient value has no record, so no condition is true for it. */
  withoutRecord(): RowAccess
  /** A condition that is true exactly in the rows with the required grants. Storage evaluates it before `forRow`. */
  pushdownCondition(need: RequiredGrant): Condition
}
